// Package hal tells of CSI in a comment alone.
package hal
