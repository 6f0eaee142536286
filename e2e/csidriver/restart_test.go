package csidriver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
)

func TestRestartLeavesMountsAndKnowsThem(t *testing.T) {
	r := newRig(t, withVolume(t, "l=loop:16Mi"))
	staging, target, c := r.mkdir("staging"), r.path("target"), mountCapability("")
	require.NoError(t, r.stage("l", staging, c))
	require.NoError(t, r.publish("l", staging, target, c, false))
	require.NoError(t, os.WriteFile(filepath.Join(target, "f"), []byte("x"), 0o600))
	r.restart()
	requireMounted(t, true, target)
	require.NoError(t, r.stage("l", staging, c))
	require.NoError(t, r.publish("l", staging, target, c, false))
	require.FileExists(t, filepath.Join(target, "f"))
	require.NoError(t, r.unpublish("l", target))
	require.NoError(t, r.unstage("l", staging))
}

func TestStagingThatARebootTookIsForgotten(t *testing.T) {
	r := newRig(t, withVolume(t, "l=loop:16Mi"))
	staging, target, c := r.mkdir("staging"), r.path("target"), mountCapability("")
	require.NoError(t, r.stage("l", staging, c))
	require.NoError(t, r.publish("l", staging, target, c, false))
	r.stop()
	require.NoError(t, unmount(target))
	require.NoError(t, unmount(staging))
	require.Len(t, r.state().Staged, 1)
	r.start()
	require.Empty(t, r.state().Staged)
	require.Empty(t, r.state().Published)
	requireCode(t, codes.FailedPrecondition, r.publish("l", staging, target, c, false))
	require.NoError(t, r.stage("l", staging, c))
	require.NoError(t, r.publish("l", staging, target, c, false))
	requireMounted(t, true, target)
}

func TestMountThatVanishedWhileRunningIsMadeAgain(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	staging, target, c := r.mkdir("staging"), r.path("target"), mountCapability("")
	require.NoError(t, r.stage("d", staging, c))
	require.NoError(t, r.publish("d", staging, target, c, false))
	require.NoError(t, unmount(target))
	require.NoError(t, r.publish("d", staging, target, c, false))
	requireMounted(t, true, target)
	require.NoError(t, unmount(staging))
	requireCode(t, codes.FailedPrecondition, r.publish("d", staging, r.path("other"), c, false))
	require.NoError(t, r.stage("d", staging, c))
	requireMounted(t, true, staging)
}

func TestMountWithoutARecordIsUnmountedAllTheSame(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	staging, target, c := r.mkdir("staging"), r.path("target"), mountCapability("")
	require.NoError(t, r.stage("d", staging, c))
	require.NoError(t, r.publish("d", staging, target, c, false))
	require.NoError(t, bind(staging, target, 0), "a second mount on top")
	require.NoError(t, r.driver.store.update(func(s *State) {
		s.forget("d", target)
		delete(s.Staged, "d")
	}))
	require.NoError(t, r.unpublish("d", target))
	require.NoDirExists(t, target)
	require.NoError(t, r.unstage("d", staging))
	requireMounted(t, false, staging)
}

func TestRawBlockDeviceIsFoundAgainWithoutARecord(t *testing.T) {
	r := newRig(t)
	c := blockCapability()
	id := r.create("raw", c, 4*mib, nil)
	staging := r.mkdir("staging")
	require.NoError(t, r.stage(id, staging, c))
	require.NoError(t, r.driver.store.update(func(s *State) { delete(s.Staged, id) }))
	require.NoError(t, r.unstage(id, staging))
	left, err := loopsUnder(r.config.StateDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestOnlyOneDriverPerStateDirectory(t *testing.T) {
	r := newRig(t)
	_, err := New(r.config)
	require.ErrorIs(t, err, ErrInUse)
}

func TestStaleSocketIsReplacedAndOthersAreNot(t *testing.T) {
	r := newRig(t)
	r.stop()
	require.NoFileExists(t, r.config.Endpoint, "a stopped driver removes its socket")
	require.NoError(t, os.WriteFile(r.config.Endpoint, []byte("precious"), 0o600))
	d, err := New(r.config)
	require.NoError(t, err)
	require.ErrorIs(t, d.Run(t.Context()), ErrConfig)
	require.FileExists(t, r.config.Endpoint)
	require.NoError(t, os.Remove(r.config.Endpoint))
	listener, err := listenUnix(r.config.Endpoint)
	require.NoError(t, err)
	listener.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	r.start()
}
