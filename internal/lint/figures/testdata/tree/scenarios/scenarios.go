// Package scenarios is empty.
package scenarios
