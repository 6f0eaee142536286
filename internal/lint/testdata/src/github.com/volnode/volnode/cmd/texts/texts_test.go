package texts

import "strings"

func asserts(err error) bool { return strings.Contains(err.Error(), "busy") }
