// Package install has a test of make install and make uninstall: what they put where, and that nothing else is left.
package install
