// Package killmatrix kills volnode by SIGKILL before and after each call that it makes into the host while it brings
// pods up, takes them down, starts again, or writes the files of an object that has changed; a call that asks the CSI
// driver for an effect also between the effect and its reply. Then it is started again, and must come to where it was
// to come to, leave nothing behind, and touch no data.
//
// The calls are those of a run that is not killed. Each is named by what it is, what it acts on, the rung that it is
// made for, and how many of the same came before it: a rule of hal/fault. Left out is what comes as often as time has
// it: the readings of the manifests, and of the mount table each time it has changed.
package killmatrix
