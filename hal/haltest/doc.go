// Package haltest is the contract of package hal for mounts, names and files, as cases that every backend passes.
//
// A case is a script of operations, one a line ([Run] lists them). What came of each and the state after it, made
// comparable (mount ids, devices and inodes numbered in the order in which they appear), is the case's history. The
// histories of all cases are recorded from Linux in testdata/cases.golden; every backend must yield the same.
// [Sequence] makes random scripts, for which the histories of two backends are compared.
//
//	go run ./hal/haltest/conform            # both backends against the golden file and against each other; needs root
//	go run ./hal/haltest/conform -rewrite   # records the golden file again, from Linux
//
// Some cases need a node with more: testdata/quotas.txt, a filesystem with project quotas (-quotas ext4);
// testdata/san.txt, iSCSI targets (-san); testdata/multipath.txt, multipathd, too (-multipath); and testdata/fc.txt,
// Fibre Channel (-fc). The last three run on a machine of e2e/vm alone.
package haltest
