/* Does the compiler know an architecture? */
