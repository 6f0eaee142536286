// Package op holds the steps that plugins share: look at a path, make and clear directories, write a file. Each is safe
// to run again after it was cut short anywhere. None retries.
package op
