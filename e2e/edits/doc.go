// Package edits has people edit manifests on this host, in every way they do, while volnode runs, dies and starts
// again. A model of what docs/volnode.md says tells what must exist whenever the edits rest: which pods are ready, at
// which path they find which volume, and which data is still there.
package edits
