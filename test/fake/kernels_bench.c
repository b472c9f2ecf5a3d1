/* Those that lbench has by hand. */
#include "../../bench/hand_device.cu"
