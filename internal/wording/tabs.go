package wording

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// yamlLine is how go.yaml.in/yaml names the line of an error.
var yamlLine = regexp.MustCompile(`line (\d+):`)

// indented is a line whose indentation, the signs of lists in it included, has a tab.
var indented = regexp.MustCompile(`^[ \-?]*\t`)

// Tab says of an error of the YAML parser about a text whether a tab in an indentation is what it is about, and in which line. The parser itself names
// the line before, at times, or speaks of a character that cannot start any token.
func Tab(text []byte, err error) (string, bool) {
	if err == nil || !strings.Contains(err.Error(), "tab character") && !strings.Contains(err.Error(), "cannot start any token") {
		return "", false
	}
	line := 1
	if is := yamlLine.FindStringSubmatch(err.Error()); is != nil {
		line, _ = strconv.Atoi(is[1]) // it is a number
	}
	lines := bytes.Split(text, []byte("\n"))
	for n := line; n <= min(line+1, len(lines)); n++ {
		if indented.Match(lines[n-1]) {
			return fmt.Sprintf("line %d: a tab is in the indentation, and YAML allows spaces only; write spaces in place of it", n), true
		}
	}
	return "", false
}
