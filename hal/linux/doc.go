// Package linux implements the interfaces of package hal with real system calls.
//
// It needs Linux 5.12 (openat2(2), mount_setattr(2)) and is at its best from 6.8 on (listmount(2), statmount(2), unique
// mount ids). Without statmount(2) the mount table comes from /proc/self/mountinfo; mount ids are then the kernel's
// reusable ones.
//
// What can hang in the kernel runs in a helper child: the program starts itself again under the name volnode-helper, in
// a session of its own and without any of the agent's file descriptors. The first thing main does in a program that
// uses this package is therefore
//
//	if linux.IsHelper() {
//		linux.HelperMain()
//	}
//
// The agent's own threads touch its root directory's filesystem, /proc, /sys, binds and memory filesystems
// only, so that a SIGKILLed agent can be started again at once, whatever a volume's filesystem does.
package linux
