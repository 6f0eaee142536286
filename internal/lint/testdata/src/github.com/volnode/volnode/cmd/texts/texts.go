package texts

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"google.golang.org/grpc/status"
)

var pattern = regexp.MustCompile("busy")

type note struct{}

func (note) Error(int) string { return "" }

func match(err error, n note) bool {
	switch {
	case strings.Contains(err.Error(), "busy"): // want `outcome: an error is told apart by its text: .*`
		return true
	case strings.HasPrefix(strings.ToLower(err.Error()), "busy"): // want `outcome: .*`
		return true
	case pattern.MatchString(err.Error()): // want `outcome: .*`
		return true
	case pattern.Match([]byte(err.Error())): // want `outcome: .*`
		return true
	case err.Error() == "busy": // want `outcome: .*`
		return true
	case strings.Contains(status.Convert(err).Message(), "busy"): // want `outcome: .*`
		return true
	case n.Error(1) == "", strings.Contains("a", "b"), err == nil:
		return true
	case errors.Is(err, io.EOF):
		return true
	}
	text := err.Error()
	if strings.Index(text, "busy") > 0 { // want `outcome: .*`
		return true
	}
	switch text { // want `outcome: .*`
	case "busy":
	}
	fmt.Print(text, strings.TrimSpace(text))
	return false
}
