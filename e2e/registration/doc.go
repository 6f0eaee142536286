// Package registration has drivers and their registrars come, die and overlap on this host, as they do on nodes:
// registrars are processes of their own, which end when they are told that their driver was not taken.
package registration
