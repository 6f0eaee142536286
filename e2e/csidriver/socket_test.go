package csidriver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A second driver of the same name leaves the registration of the first alone, and at its end each removes only what it
// has made.
func TestADriverLeavesTheSocketsOfOthersAlone(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RegistrationDir = filepath.Join(filepath.Dir(c.Endpoint), "registry") })
	registration := filepath.Join(r.config.RegistrationDir, DefaultName+"-reg.sock")
	stands := func() bool { _, err := os.Lstat(registration); return err == nil }
	require.Eventually(t, stands, 10*time.Second, 10*time.Millisecond) //nolint:forbidigo // another process tells nothing
	first, err := os.Lstat(registration)
	require.NoError(t, err)
	for _, change := range []func(*Config){
		func(c *Config) { c.Endpoint = r.path("other.sock") }, // its registration socket is the same
		func(c *Config) { c.RegistrationDir = "" },            // its endpoint is
	} {
		c := r.config
		c.StateDir = t.TempDir()
		change(&c)
		second, err := New(c)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		require.ErrorIs(t, second.Run(ctx), ErrServed)
		cancel()
	}
	now, err := os.Lstat(registration)
	require.NoError(t, err)
	require.True(t, os.SameFile(first, now))
	require.NoFileExists(t, r.path("other.sock"))

	require.NoError(t, os.Remove(registration)) // somebody puts another one in its place
	other, err := listenUnix(registration)
	require.NoError(t, err)
	r.stop()
	require.FileExists(t, registration)
	require.NoFileExists(t, r.config.Endpoint)
	require.NoError(t, other.Close())
	require.NoFileExists(t, registration)
	r.start()
}

// What a process that was killed has left is replaced.
func TestASocketThatNobodyServesIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := listenUnix(path)
	require.NoError(t, err)
	require.NoError(t, dead.(*ownSocket).UnixListener.Close())
	require.FileExists(t, path)
	l, err := listenUnix(path)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}
