// Package hostpath does not count for itself.
package hostpath

// Name names it.
const Name = "hostPath"
