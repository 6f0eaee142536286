// Package csidriver is a real CSI driver for tests: it serves the Identity, Controller and Node services over one unix
// socket, mounts what it is asked to mount, and can be told to misbehave.
//
// Read it in this order:
//
//	driver.go     the process: sockets, start, stop
//	interceptor.go what surrounds every call: call log, per-volume lock, faults
//	controller.go, attach.go, listing.go          the Controller service
//	stage.go, publish.go, nodeinfo.go             the Node service
//	backing.go    what a volume is made of: dirbacking.go (a directory), loopbacking.go (an image and a loop device)
//	store.go      the durable state; every record is written before the mount it describes and removed after it
//	faults.go     the rules that make the driver slow, wrong, or dead
//
// A volume moves through these states; each arrow is one call and each state survives a restart of the driver:
//
//	          CreateVolume           ControllerPublish          NodeStage            NodePublish
//	(nothing) ───────────▶ volume ───────────────────▶ attached ─────────▶ staged ─────────────▶ published (0..n)
//	          ◀─────────── volume ◀─────────────────── attached ◀───────── staged ◀─────────────
//	          DeleteVolume          ControllerUnpublish        NodeUnstage           NodeUnpublish
//
// Being attached is not a condition of being staged unless Config.RequireAttach says so: an agent that runs without a
// control plane has nobody who attaches.
package csidriver
