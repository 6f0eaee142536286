// Package wording looks at texts for people as programs make them: whether parts of a text are missing, or were put
// together wrongly.
package wording

import "strings"

// Wrong says what is wrong with a text, "" if nothing is.
func Wrong(text string) string {
	switch {
	case text == "":
		return ""
	case strings.TrimSpace(text) != text:
		return "a blank begins or ends it"
	case strings.Contains(text, "%!"):
		return "a verb has no value"
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], " ")
	}
	text = strings.Join(lines, "\n")
	for _, bad := range never {
		if strings.Contains(text, bad.part) {
			return bad.why
		}
	}
	for _, word := range open {
		if strings.HasSuffix(text, " "+word) {
			return "nothing follows " + word
		}
	}
	if strings.HasSuffix(text, "[]") {
		return "a list is empty"
	}
	if strings.HasSuffix(text, ":") || strings.HasSuffix(text, ",") || strings.HasSuffix(text, ";") {
		return "nothing follows its last sign"
	}
	return ""
}

var never = []struct{ part, why string }{
	{"  ", "it has two blanks in a row"},
	{`""`, "a name between quotes is empty"},
	{"''", "a name between quotes is empty"},
	{"()", "nothing is between the brackets"},
	{"[] ", "a list is empty"},
	{"[];", "a list is empty"},
	{"[],", "a list is empty"},
	{"<nil>", "a value is missing"},
	{"map[", "a map is printed as Go has it"},
	{" ,", "nothing is before a comma"},
	{" ;", "nothing is before a semicolon"},
	{" : ", "nothing is before a colon"},
	{": :", "nothing is between two colons"},
	{": ;", "nothing is behind a colon"},
	{": ,", "nothing is behind a colon"},
	{"; ;", "nothing is between two semicolons"},
	{", ,", "nothing is between two commas"},
	{" or,", "nothing follows or"},
	{" or;", "nothing follows or"},
	{" or:", "nothing follows or"},
	{" and;", "nothing follows and"},
}

// open are words that can't end a text.
var open = []string{"or", "and", "of", "because", "the", "a"}
