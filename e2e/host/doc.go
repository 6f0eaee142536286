// Package host runs the real thing for tests: a CSI driver and volnode as processes on this host, below one directory,
// in a mount namespace of their own. It starts and kills them, waits for what they do, and tells what they have left
// behind.
//
// Every wait ends by an event: a process that ends, a message of the daemon, a change of the mount table or of a file.
// None is for time to pass; what does not come within [Patience] fails the test.
//
// A test that needs it calls [Main] in TestMain and [New] in each test.
package host
