package lang

const (
	RootDir     = "/var/lib/volnode"
	ManifestDir = RootDir + "/manifests"
	NodeName    = "node-1"
)
