package lang

const (
	RootDir     = "/var/lib/volnode"     // the agent's
	ManifestDir = RootDir + "/manifests" // in file mode
	NodeName    = "node-1"               // the name of the node
)
