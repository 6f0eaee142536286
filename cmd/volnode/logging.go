package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine"
)

// newLogger writes to w in the configured format.
func newLogger(c loggingConfig, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// newLogSink makes the sink of the log.
func newLogSink(c loggingConfig, out io.Writer) *sink {
	return newSink("log", out, func(n uint64) []byte {
		var line bytes.Buffer
		newLogger(loggingConfig{Format: c.Format}, &line).Warn("log lines dropped: the reader of the log is too slow",
			"lines", n)
		return line.Bytes()
	})
}

// levels are the names that a level of the log may be given by.
var levels = []string{"debug", "info", "warn", "error"}

func checkLevel(name string) error {
	if !slices.Contains(levels, strings.ToLower(name)) {
		return fmt.Errorf("%q is none of %s", name, strings.Join(levels, ", "))
	}
	return nil
}

// levelFlag is a level of the log as a flag. It implements pflag.Value.
type levelFlag slog.Level

func (f *levelFlag) String() string { return strings.ToLower(slog.Level(*f).String()) }
func (f *levelFlag) Type() string   { return "level" }

func (f *levelFlag) Set(name string) error {
	if err := checkLevel(name); err != nil {
		return err
	}
	return (*slog.Level)(f).UnmarshalText([]byte(name))
}

// slogLevel is a level of the engine as slog has it: its levels are four apart.
func slogLevel(l engine.Level) slog.Level { return slog.Level(4 * l) }

// eventLevel is the least level of the engine's events that the program needs: metrics count what is LevelInfo.
func (c *loggingConfig) eventLevel() engine.Level {
	if c.Level <= slog.LevelDebug {
		return engine.LevelDebug
	}
	return engine.LevelInfo
}

// logEvent writes the line of one event of the engine. A value that is empty is left out.
func logEvent(log *slog.Logger, e engine.Event) {
	l := e.Line()
	var attrs []slog.Attr
	for i := 0; i+1 < len(l.Fields); i += 2 {
		if l.Fields[i+1] != "" {
			attrs = append(attrs, slog.String(l.Fields[i], l.Fields[i+1]))
		}
	}
	log.LogAttrs(context.Background(), slogLevel(l.Level), l.Message, attrs...)
}
