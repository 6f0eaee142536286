package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// table prints rows in columns. Nothing is cut short: a line may be longer than the terminal.
type table struct {
	w *tabwriter.Writer
}

// newTable begins a table; no headers, no head line.
func newTable(w io.Writer, headers ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	if len(headers) > 0 {
		t.row(headers...)
	}
	return t
}

// row adds one row. An empty cell is shown as "-", so that columns can be counted.
func (t table) row(cells ...string) {
	for i, cell := range cells {
		if cell = printable(cell); cell == "" {
			cell = "-"
		}
		cells[i] = cell
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

func (t table) end() { _ = t.w.Flush() }

// printable keeps what others wrote from moving the cursor or breaking a row.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

// age is a time in the coarsest way that still tells something.
func age(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}
