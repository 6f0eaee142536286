package wording

import "strings"

// Nearest returns the one of names that is written most like a word, the first of several; "" if none is like it.
func Nearest(word string, names []string) string {
	best, distance := "", 1+len(word)/2
	for _, name := range names {
		if d := Distance(strings.ToLower(word), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// Distance is Levenshtein's, in bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Meant ends an error about a word that is none of names: the one that somebody may have meant, else all of them; "" if there are none.
func Meant(word string, names []string) string {
	if near := Nearest(word, names); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are: " + strings.Join(names, ", ")
}
