// Package gitrepo is gitRepo volumes as scenarios know them.
package gitrepo

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/gitrepo"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is gitRepo volumes.
func Room() *world.Room {
	return &world.Room{
		Source: gitrepo.Source(),
		Words:  []lang.Word{{Form: "git:URL", Volume: word}},
		Hunted: world.Hunted{Name: "git", Site: "workload.git", Never: 12, Volumes: volumes},
		Path:   placeOf, Mode: 0o777, IsGiven: true, Begin: begin, HasServer: true,
		Leave: func(w *sim.World, path string) []string {
			w.WriteFile(path+"/file", []byte("of another agent"))
			return []string{path + "/file"}
		},
		New: func() world.RoomRun {
			return &run{came: map[core.PodUID]hal.Instant{}}
		},
	}
}

// word is a volume with the files of a repository, or of a revision behind a +, in the volume itself.
func word(rest string) (corev1.VolumeSource, bool) {
	url, revision, _ := strings.Cut(rest, "+")
	return *of(url, revision, "."), url != ""
}

func of(url, revision, directory string) *corev1.VolumeSource {
	return &corev1.VolumeSource{GitRepo: &corev1.GitRepoVolumeSource{
		Repository: url, Revision: revision, Directory: directory,
	}}
}

func placeOf(uid, volume string) string {
	source := gitrepo.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), volume).Path
}

// The repositories of hunts. Somebody puts other versions of the first, and the second goes, rots or is silent for a
// while.
const (
	app  = "https://git.example/team/app.git"
	away = "https://git.example/team/away"
	tag  = "v1"
)

var volumes = []world.HuntedShape{
	{Text: "a clone of the newest revision of a repository", Source: *of(app, "", ".")},
	{Text: "a clone of a revision of a repository", Source: *of(app, tag, "")},
	{Text: "a clone of a repository that comes and goes", Source: *of(away, "", "src/app")},
}
