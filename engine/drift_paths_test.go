package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A notice is of interest where volnode has volumes, or may have: below its root directory, and at host paths. What
// lies on the way to the root directory concerns all of them.
func TestWhichNoticesConcernAVolume(t *testing.T) {
	record := func(key, path string) core.Record {
		return core.Record{
			Rung:  core.Rung{Key: hal.Key(key), Want: []core.Param{{Name: "path", Value: path}}},
			Phase: core.Confirmed,
		}
	}
	for name, c := range map[string]struct {
		news, want []string
		isAll      bool
	}{
		"elsewhere":                {news: []string{"/mnt", "/run/x", "/srv/a-b", "/varx"}},
		"at and above a host path": {news: []string{"/srv", "/srv/a", "/srv/a/b"}, want: []string{"/srv"}},
		"below a host path":        {news: []string{"/srv/a/b"}},
		"below the root directory": {
			news: []string{"/var/lib/v/a", "/var/lib/v/a-b", "/var/lib/v/a/b"},
			want: []string{"/var/lib/v/a", "/var/lib/v/a-b"},
		},
		"the root directory":          {news: []string{"/srv", "/var/lib/v"}, isAll: true},
		"above the root directory":    {news: []string{"/var"}, isAll: true},
		"the root of everything":      {news: []string{"/"}, isAll: true},
		"beside a directory above it": {news: []string{"/var/li"}},
	} {
		d := &drift{port: &port{cfg: Config{RootDir: "/var/lib/v"}}}
		d.core = core.New(core.Start{Now: 1, Records: []core.Record{
			record("hostpath/a", "/srv/a"),
			record("hostpath/b", "/srv/c/d"),
		}})
		found := d.concerning(c.news)
		require.Equal(t, c.isAll, d.isAll, name)
		if !c.isAll {
			require.ElementsMatch(t, c.want, found, name)
		}
	}
}

// What is at some paths is compared with what was known there, and with nothing else.
func TestStrangersAtPaths(t *testing.T) {
	strange := []stranger{
		{path: "/r/a"},
		{path: "/r/a"},
		{path: "/r/a-b"},
		{path: "/r/a/b"},
		{path: "/r/a/b/c"},
		{path: "/r/ab"},
		{path: "/r/b"},
	}
	paths := func(of []stranger) (all []string) {
		for _, s := range of {
			all = append(all, s.path)
		}
		return all
	}
	require.Equal(t, []string{"/r/a", "/r/a", "/r/a/b", "/r/a/b/c"}, paths(strangersWithin(strange, []string{"/r/a"})))
	require.Equal(t, []string{"/r/a/b/c", "/r/b"},
		paths(strangersWithin(strange, []string{"/r/a/b/c", "/r/b", "/r/c"})))
	require.Empty(t, strangersWithin(strange, []string{"/s"}))
	require.Equal(t, []hal.Key{"a", "b", "c"}, changedKeys(map[hal.Key]string{"a": "1", "b": "2", "d": "4"},
		map[hal.Key]string{"b": "3", "c": "1", "d": "4"}))
}
