// Package volnode has no code of its own: its test checks, over the whole tree, what a linter cannot.
package volnode

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/internal/lint/figures"
)

const (
	maxFileLines     = 500
	maxFunctionLines = 70
)

// sources returns the paths of all files of the tree that people write, slash-separated and sorted.
func sources(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || p == "bin"):
			return fs.SkipDir
		case d.Type().IsRegular() && p != ".git": // as it is in a linked worktree
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, p string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(p))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func isText(content []byte) bool {
	return utf8.Valid(content) && !bytes.ContainsRune(content, 0)
}

// Names say what a thing is. These say only that nobody knew.
func TestNames(t *testing.T) {
	banned := []string{"base", "common", "helpers", "impl", "misc", "util", "utils"}
	for _, p := range sources(t) {
		for _, element := range strings.Split(p, "/") {
			name, _, _ := strings.Cut(element, ".")
			for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }) {
				if slices.Contains(banned, strings.ToLower(word)) && path.Ext(p) == ".go" {
					t.Errorf("%s: %q is no name for a package or file", p, word)
				}
			}
		}
	}
}

// A note of work to do is an issue, or it is never done: TODO(#12).
func TestNotes(t *testing.T) {
	note := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	issue := regexp.MustCompile(`\bTODO\(#[0-9]+\)`)
	for _, p := range sources(t) {
		if p == "tidy_test.go" || path.Ext(p) != ".go" && path.Base(p) != "Makefile" && path.Ext(p) != ".sh" {
			continue
		}
		for i, line := range strings.Split(string(read(t, p)), "\n") {
			if note.MatchString(line) && !issue.MatchString(line) {
				t.Errorf("%s:%d: a note of work to do names its issue: TODO(#12)", p, i+1)
			}
		}
	}
}

// Words that plainer ones have replaced do not come back, in text and in names of files. What tells of the past keeps
// them.
func TestRetiredWords(t *testing.T) {
	for _, p := range sources(t) {
		content := read(t, p)
		if !isText(content) {
			continue
		}
		for _, w := range figures.RetiredWords(p, string(content)) {
			t.Errorf("%s:%d: %q is retired: set up, tear down, undo and again say it plainly", p, w.Line, w.Word)
		}
	}
}

// What is exported and what holds state have a comment, and no import runs back.
func TestFiguresThatStayAtNone(t *testing.T) {
	all, err := figures.Of(".", false)
	require.NoError(t, err)
	found := 0
	for _, f := range all {
		switch f.Name {
		case "exported names without a comment", "fields of state in engine and engine/core without a comment",
			"imports that run back, in engine and scenarios", "bools on the rung of engine/core":
			found++
			require.Equal(t, "0", f.Value, f.Name)
		}
	}
	require.Equal(t, 4, found)
}

// What is here makes sense on every machine: no path of the machine that it was written on.
func TestPlaces(t *testing.T) {
	places := []string{"../sha" + "red", "/wo" + "rk/"}
	for _, p := range sources(t) {
		content := read(t, p)
		if !isText(content) {
			continue
		}
		for i, line := range strings.Split(string(content), "\n") {
			for _, place := range places {
				if strings.Contains(line, place) {
					t.Errorf("%s:%d: %q exists on one machine only", p, i+1, place)
				}
			}
		}
	}
}

// Every relative link of a document leads to a file.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)
	for _, p := range sources(t) {
		if path.Ext(p) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(read(t, p)), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.FromSlash(path.Join(path.Dir(p), m[1]))); err != nil {
				t.Errorf("%s: link to %s: %v", p, m[1], err)
			}
		}
	}
}

// Every path of the tree that a document names is there. What has grown since may name what was.
func TestPathsOfDocuments(t *testing.T) {
	quoted := regexp.MustCompile("`((?:bench|cmd|docs|e2e|engine|examples|hal|internal|scenarios)/[\\w./-]+)")
	pattern := regexp.MustCompile(`[A-Z]{3,}|\.\.\.|/\w+\.\w+\.\w+$`) // a word to replace, many packages, a function
	for _, p := range sources(t) {
		if path.Ext(p) != ".md" || p == "CHANGELOG.md" || p == "docs/track-record.md" {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(string(read(t, p)), -1) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil && !pattern.MatchString(m[1]) {
				t.Errorf("%s names %s: %v", p, m[1], err)
			}
		}
	}
}

// Every make target that a document names is in the Makefile.
func TestTargets(t *testing.T) {
	makefile := string(read(t, "Makefile"))
	quoted := regexp.MustCompile("(?m)(?:`|^\\s*(?:\\$ |# )?)make ([a-z][a-z0-9-]*)( of| PATH)?")
	for _, p := range sources(t) {
		if path.Ext(p) != ".md" {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(string(read(t, p)), -1) {
			if m[2] == "" && !strings.Contains(makefile, "\n"+m[1]+":") { // else it is a statement of a scenario
				t.Errorf("%s: the Makefile has no target %s", p, m[1])
			}
		}
	}
}

// A file is read in one sitting, a function on one screen.
func TestSizes(t *testing.T) {
	for _, p := range sources(t) {
		if path.Ext(p) != ".go" || strings.Contains(p, "/testdata/") {
			continue
		}
		content := read(t, p)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		if ast.IsGenerated(file) {
			continue
		}
		if n := bytes.Count(content, []byte("\n")); n > maxFileLines {
			t.Errorf("%s: %d lines, more than %d", p, n, maxFileLines)
		}
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := fset.Position(f.Body.Rbrace).Line - fset.Position(f.Body.Lbrace).Line - 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", fset.Position(f.Pos()), f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

// The changelog has versions, and in each the kinds of changes that Keep a Changelog knows, so that a line has one
// place.
func TestChangelog(t *testing.T) {
	version := regexp.MustCompile(`^## \[(Unreleased|[0-9]+\.[0-9]+\.[0-9]+)\]( - [0-9]{4}-[0-9]{2}-[0-9]{2})?$`)
	kinds := []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
	var in []string // the kinds of this version
	for i, line := range strings.Split(string(read(t, "CHANGELOG.md")), "\n") {
		kind, isKind := strings.CutPrefix(line, "### ")
		switch {
		case version.MatchString(line):
			in = []string{}
		case isKind && (in == nil || !slices.Contains(kinds, kind) || slices.Contains(in, kind)):
			t.Errorf("CHANGELOG.md:%d: %q is no kind of changes, or its version has it twice", i+1, kind)
		case isKind:
			in = append(in, kind)
		case strings.HasPrefix(line, "## "):
			t.Errorf("CHANGELOG.md:%d: write ## [Unreleased], or ## [1.2.3] - 2026-01-31", i+1)
		case strings.HasPrefix(line, "- ") && len(in) == 0:
			t.Errorf("CHANGELOG.md:%d: a change is under Added, Changed, Deprecated, Removed, Fixed or Security", i+1)
		}
	}
}

// Nothing that is built or generated in bulk is in the tree.
func TestNothingBuilt(t *testing.T) {
	for _, p := range sources(t) {
		info, err := os.Lstat(p)
		if err != nil {
			continue // gone since it was listed
		}
		if info.Size() > 1<<20 {
			t.Errorf("%s has %d bytes; what is built is not tracked", p, info.Size())
		}
	}
}
