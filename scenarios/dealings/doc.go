// Package dealings is what the agent has to do with drivers, registrars and the cluster over time: which versions of
// objects it was told of, which volume is attached where, what was registered, how often something is asked, and what
// containers find in their volumes.
package dealings
