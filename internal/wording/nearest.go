package wording

import "strings"

// Nearest returns the one of names that is written most like a word, or begins with it, the first of several; "" if
// none is like it.
func Nearest(word string, names []string) string {
	best, distance := "", 1+len(word)/2
	for _, name := range names {
		d := Distance(strings.ToLower(word), strings.ToLower(name))
		if len(word) > 2 && strings.HasPrefix(name, word) {
			d = min(d, 1)
		}
		if d < distance {
			best, distance = name, d
		}
	}
	return best
}

// Distance is Levenshtein's, in bytes; two neighbours that have changed places count as one.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Meant ends an error about a word that is none of names: the one that somebody may have meant, else all of them; "" if
// there are none.
func Meant(word string, names []string) string {
	if near := Nearest(word, names); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are: " + strings.Join(names, ", ")
}
