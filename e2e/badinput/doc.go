// Package badinput gives volnode what no one should: manifests that are broken or hostile, drivers that talk nonsense,
// a disk that is full, a journal that is damaged, secrets in every place where one can be. Each must end in a sentence
// that says what is wrong, where, and what to do; and nothing that runs may be lost over it.
package badinput
