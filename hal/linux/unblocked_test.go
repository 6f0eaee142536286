package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// Disconnect is called on the owner. A call of the driver that connects again to a process which accepts and says
// nothing must not hold it up.
func TestDisconnectDoesNotWaitForACallThatConnects(t *testing.T) {
	h, socket, stop := connected(t, &fakeDriver{})
	stop()
	silent := listen(t, socket)
	defer silent.Close()
	called := make(chan error, 1)
	go func() { called <- stage(h, hal.Call{Deadline: h.runtime.Now().Add(patience)}, "ok") }()
	conn, err := silent.Accept() // the call connects, and gets no further
	require.NoError(t, err)
	done := make(chan struct{})
	h.runtime.Post(func() {
		h.drivers.Disconnect("d")
		close(done)
	})
	receive(t, done, "end of Disconnect")
	select {
	case err := <-called:
		require.FailNow(t, "Disconnect waited for the call", "%v", err)
	default:
	}
	require.NoError(t, conn.Close())
	requireNeverSent(t, <-called)
}
