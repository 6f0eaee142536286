// Package manpages writes the manual pages of a program from its commands. Only programs built with the tag
// volnode_manpages import it, so those that are installed don't grow.
package manpages

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Main writes one page for each command of root into the directory that the command line names, and ends the program.
func Main(root *cobra.Command, section string) {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %s DIRECTORY\n", root.Name())
		os.Exit(2)
	}
	if err := Write(root, section, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "manual pages of %s: %v\n", root.Name(), err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Write writes one page for each command of root, of one section of the manual, into a directory that exists. The date
// of the pages is SOURCE_DATE_EPOCH, if that is set.
func Write(root *cobra.Command, section, dir string) error {
	prepare(root)
	header := &doc.GenManHeader{Section: section, Source: root.Name(), Manual: root.Short}
	return doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{Header: header, Path: dir, CommandSeparator: "-"})
}

// prepare leaves out the commands that all programs of cobra have. The help texts are plain text, and doc takes them
// for Markdown.
func prepare(c *cobra.Command) {
	c.DisableAutoGenTag = true
	if c.Name() == "completion" || c.Name() == "help" {
		c.Hidden = true
	}
	c.Long = markdown(c.Long)
	for _, below := range c.Commands() {
		prepare(below)
	}
}

// markdown is a plain text as Markdown that shows it as it is. Its indented lines are examples, lists or tables.
func markdown(text string) string {
	special := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "[", `\[`, "#", `\#`)
	var lines []string
	wasExample := true
	for line := range strings.SplitSeq(text, "\n") {
		isExample := strings.HasPrefix(line, "  ")
		if isExample != wasExample && line != "" {
			lines = append(lines, "")
		}
		switch {
		case isExample:
			line = "    " + line
		default:
			line = special.Replace(line)
		}
		lines = append(lines, line)
		wasExample = isExample || line == ""
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
