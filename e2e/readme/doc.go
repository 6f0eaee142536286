// Package readme runs the commands that README.md gives for a host, as they stand there.
package readme
