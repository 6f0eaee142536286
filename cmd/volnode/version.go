package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// build is what this program was built from.
type build struct {
	version, commit, goVersion, csi string
}

func buildOf() build {
	b := build{version: "unknown", commit: "unknown", goVersion: runtime.Version(), csi: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	b.commit += dirty
	for _, d := range info.Deps {
		if d.Path == "github.com/container-storage-interface/spec" {
			b.csi = strings.TrimPrefix(d.Version, "v")
		}
	}
	return b
}

func (b build) String() string {
	return fmt.Sprintf("volnode %s\ncommit %s\nbuilt with %s\nCSI spec %s\n", b.version, b.commit, b.goVersion, b.csi)
}
