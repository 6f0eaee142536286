package linux

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// shortage is why volnode can't watch all that it should: limits of inotify(7). It looks at what it can't watch every
// rescanEvery, so it notices a change late. Each look tries again to watch. A person has to raise the limit.
type shortage struct {
	tell func(why string) // may be nil

	mu   sync.Mutex
	of   map[any]string // why, by who is short
	said string
}

func newShortage(tell func(why string)) *shortage { return &shortage{tell: tell, of: map[any]string{}} }

// has records how an attempt of who to watch has ended. It reports each reason once, however many watchers share it,
// and again if it comes again. It reports "" when all is watched.
func (s *shortage) has(who any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := shortOf(err); why != "" {
		s.of[who] = why
	} else {
		delete(s.of, who)
	}
	text := strings.Join(slices.Compact(slices.Sorted(maps.Values(s.of))), "; ")
	if s.tell != nil && text != s.said {
		s.tell(text)
	}
	s.said = text
}

// shortOf says what a person can do about a limit, "" of any other error: what is not there needs no watch.
func shortOf(err error) string {
	for _, of := range []struct {
		errno  syscall.Errno
		advice string
	}{
		{syscall.EMFILE, "raise fs.inotify.max_user_instances (sysctl), or the limit of open files of volnode"},
		{syscall.ENOSPC, "raise fs.inotify.max_user_watches (sysctl)"},
		{syscall.ENFILE, "raise fs.file-max (sysctl)"},
		{syscall.ENOMEM, "the kernel has no memory for it"},
	} {
		if errors.Is(err, of.errno) {
			return "inotify: " + of.errno.Error() + ": " + of.advice
		}
	}
	return ""
}
