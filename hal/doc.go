// Package hal is the hardware abstraction layer: the only door from the engine to a node.
//
// A [Host] is a struct of small interfaces, one for each kernel object or peer that the engine touches. One method is
// one system call (or the short chain of them that has one effect), one helper process or one RPC. No method retries,
// logs or decides. Every method may block; none is called from the owner (see [Runtime]) unless its doc says so.
//
// hal/linux implements these interfaces with real system calls, hal/sim with a deterministic model. hal/haltest holds
// the cases that both must pass. hal/fault and hal/trace wrap any Host.
package hal
