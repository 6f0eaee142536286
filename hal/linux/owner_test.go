package linux

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOwnerRunsPostsInOrderOneAtATime(t *testing.T) {
	h, _ := startHost(t)
	const posters, posts = 4, 1000
	var ran []int // the owner's; no lock, so that -race sees two owners
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for i := range posts {
				h.runtime.Post(func() { ran = append(ran, p*posts+i) })
			}
		})
	}
	wg.Wait()
	done := make(chan []int, 1)
	h.runtime.Post(func() { done <- ran })
	last := map[int]int{}
	for _, v := range receive(t, done, "run") {
		require.Equal(t, last[v/posts], v%posts, "poster %d", v/posts)
		last[v/posts]++
	}
	require.Len(t, last, posters)
}

func TestAtRunsInTheOrderOfInstants(t *testing.T) {
	h, _ := startHost(t)
	got := make(chan int, 4)
	now := h.runtime.Now()
	h.runtime.At(now.Add(20*time.Millisecond), func() { got <- 3 })
	h.runtime.At(now.Add(10*time.Millisecond), func() { got <- 2 })
	h.runtime.At(now.Add(-time.Second), func() { got <- 1 })
	h.runtime.At(now.Add(20*time.Millisecond), func() { got <- 4 })
	for want := 1; want <= 4; want++ {
		require.Equal(t, want, receive(t, got, "timer"))
	}
	require.GreaterOrEqual(t, h.runtime.Now().Sub(now), 20*time.Millisecond)
}

func TestAwait(t *testing.T) {
	h, _ := startHost(t)
	require.NoError(t, h.runtime.Await(context.Background(), func(done func()) { done(); done() }))

	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	var late func()
	require.ErrorIs(t, h.runtime.Await(ctx, func(done func()) { late = done; cancel(why) }), why)
	require.ErrorIs(t, h.runtime.Await(ctx, func(func()) { t.Error("registered for a context that is over") }), why)
	// After this one the first register has run.
	require.NoError(t, h.runtime.Await(context.Background(), func(done func()) { done() }))
	late()
}

// Other processes of this boot read what an owner has written: their clocks must agree.
func TestNowIsTheClockOfAllProcesses(t *testing.T) {
	for range 100 {
		r, err := newOwner()
		require.NoError(t, err)
		for range 3 {
			before := clock()
			now := r.Now()
			require.LessOrEqual(t, before.Add(-clockGap), now)
			require.LessOrEqual(t, now, clock())
			time.Sleep(time.Millisecond / 10) //nolint:forbidigo // there is no event
		}
	}
}

func TestBootID(t *testing.T) {
	h, _ := startHost(t)
	require.Len(t, string(h.runtime.BootID()), 36)
}

func TestNewRefusesARootThatIsNoPlainPath(t *testing.T) {
	for _, dir := range []string{"", "relative", "/", "/a//b", "/a/../b"} {
		_, err := New(Options{RootDir: dir})
		require.Error(t, err, dir)
	}
}
