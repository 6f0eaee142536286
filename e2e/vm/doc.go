// Package vm boots a virtual machine for tests that need a kernel with other parts than the host's: an NFS server and
// client, project quotas, SCSI, device mapper, modules. It makes the machine of Debian packages, which it installs
// nowhere, and runs it under emulation (TCG), so it needs neither KVM nor a disk image from elsewhere.
//
// [Build] makes an image and keeps it until one of its packages, or this package, changes. [Image.Run] boots it with a
// directory of the host at /w, runs one command there as root, and returns the command's exit status. What the command
// writes anywhere else is gone afterwards.
package vm

// Cache is the directory for images, if nobody says another.
const Cache = "/var/cache/volnode-vm"
