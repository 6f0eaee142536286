package linux

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// filesBelow are the paths of all but directories.
func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, at); err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	}))
	return all
}

func writeRecord(t *testing.T, r records, l loginRequest, tag string) {
	t.Helper()
	iface, err := r.interfaceOf(l)
	require.NoError(t, err)
	conf := parseSettings([]byte("# node.startup = automatic\nnode.startup = automatic\n" +
		"node.conn[0].iscsi.HeaderDigest = CRC32C\nnode.session.auth.password = of somebody else\nisns.port = 1\n"))
	require.NoError(t, r.write(l, iface, conf, tag))
}

func TestARecordIsWrittenForRootAloneAndRemoved(t *testing.T) {
	r := records{t.TempDir()}
	l := loginRequest{Record: record, From: "default", Initiator: "iqn.me", CHAP: credentials}
	writeRecord(t, r, l, "7")
	const file, iface = "nodes/iqn.2026-01.example:disks/192.0.2.1,3260,7/volnode-1", "ifaces/volnode-1"
	require.Equal(t, []string{iface, file}, filesBelow(t, r.dir))
	for _, name := range []string{iface, file} {
		is, err := os.Stat(filepath.Join(r.dir, name))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), is.Mode())
	}
	text, err := os.ReadFile(filepath.Join(r.dir, file))
	require.NoError(t, err)
	is := parseSettings(text)
	for name, want := range map[string]string{
		"node.name": "iqn.2026-01.example:disks", "node.conn[0].address": "192.0.2.1", "node.conn[0].port": "3260",
		"node.tpgt": "7", "node.startup": "manual", "node.session.scan": "manual", "iface.initiatorname": "iqn.me",
		"iface.iscsi_ifacename": "volnode-1", "iface.transport_name": "tcp", "node.conn[0].iscsi.HeaderDigest": "CRC32C",
		"node.session.auth.authmethod": "CHAP", "node.session.auth.password": "two words = # one", "isns.port": "",
	} {
		require.Equal(t, want, is.value(name), name)
	}
	text, err = os.ReadFile(filepath.Join(r.dir, iface))
	require.NoError(t, err)
	require.NotContains(t, string(text), "two words")
	require.Equal(t, "iqn.me", parseSettings(text).value("iface.initiatorname"))

	// The portal group gets another number, and the session no credentials.
	l.CHAP = nil
	writeRecord(t, r, l, anyTag)
	require.Equal(t, []string{iface, strings.Replace(file, ",7/", ",1/", 1)}, filesBelow(t, r.dir))
	for _, name := range filesBelow(t, r.dir) {
		text, err := os.ReadFile(filepath.Join(r.dir, name))
		require.NoError(t, err)
		require.NotContains(t, string(text), "two words")
		require.NotContains(t, string(text), "CHAP")
	}
	require.NoError(t, r.remove(record))
	require.Empty(t, filesBelow(t, r.dir))
	require.NoDirExists(t, r.dir+"/nodes/"+record.Target)
	require.NoError(t, r.remove(record))
	require.NoError(t, records{r.dir + "/missing"}.remove(record))
}

func TestAnInterfaceStaysWhileARecordUsesIt(t *testing.T) {
	r, other := records{t.TempDir()}, record
	other.Portal = "[2001:db8::1]:3260"
	writeRecord(t, r, loginRequest{Record: record, From: "default"}, "1")
	writeRecord(t, r, loginRequest{Record: other, From: "default"}, "1")
	require.NoError(t, r.remove(record))
	require.Equal(t, []string{"ifaces/volnode-1", "nodes/iqn.2026-01.example:disks/2001:db8::1,3260,1/volnode-1"},
		filesBelow(t, r.dir))
	require.NoError(t, r.remove(other))
	require.Empty(t, filesBelow(t, r.dir))
}

func TestAnInterfaceIsACopyOfAnother(t *testing.T) {
	r := records{t.TempDir()}
	require.NoError(t, os.Mkdir(r.dir+"/ifaces", 0o700))
	require.NoError(t, os.WriteFile(r.dir+"/ifaces/storage", []byte("# BEGIN RECORD 2.1.8\n"+
		"iface.iscsi_ifacename = storage\niface.net_ifacename = eth1\niface.transport_name = tcp\n"+
		"iface.initiatorname = iqn.storage\niface.hwaddress = <empty>\n# END RECORD\n"), 0o600))
	for _, initiator := range []string{"", "iqn.me"} {
		iface, err := r.interfaceOf(loginRequest{Record: record, From: "storage", Initiator: initiator})
		require.NoError(t, err)
		require.Equal(t, "eth1", iface.value("iface.net_ifacename"))
		require.Equal(t, "volnode-1", iface.value("iface.iscsi_ifacename"))
		require.Equal(t, map[string]string{"": "iqn.storage", "iqn.me": "iqn.me"}[initiator],
			iface.value("iface.initiatorname"))
	}
	_, err := r.interfaceOf(loginRequest{Record: record, From: "missing"})
	require.ErrorIs(t, err, syscall.ENOENT)
}

// What a helper that died leaves is not a part of the database, and goes with the record.
func TestAHalfWrittenRecordIsRemoved(t *testing.T) {
	r := records{t.TempDir()}
	require.NoError(t, os.WriteFile(r.next(record), []byte("node.session.auth.password = half"), 0o600))
	require.NoError(t, r.remove(record))
	require.Empty(t, filesBelow(t, r.dir))
	require.NoError(t, os.WriteFile(r.next(record), []byte("node.session.auth.password = half"), 0o600))
	writeRecord(t, r, loginRequest{Record: record, From: "default"}, "1")
	require.NoFileExists(t, r.next(record))
}

func TestTheDatabaseIsWhereThePackageHasIt(t *testing.T) {
	dir := t.TempDir()
	_, err := databaseIn([]string{dir + "/later", dir + "/earlier"})
	require.ErrorIs(t, err, syscall.ENXIO)
	for _, name := range []string{"/earlier", "/later"} {
		require.NoError(t, os.Mkdir(dir+name, 0o755))
		r, err := databaseIn([]string{dir + "/later", dir + "/earlier"})
		require.NoError(t, err)
		require.Equal(t, dir+name, r.dir)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte("# BEGIN RECORD 2.1.8\nnode.name = iqn.a\nnode.conn[0].port=3260\n a =  b = c \nempty =\nno value\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		is := parseSettings(text)
		if bytes.ContainsAny(text, "\r\v\f\x85\xa0") || !bytes.Equal(text, bytes.ToValidUTF8(text, nil)) {
			return // nobody writes such files
		}
		require.Equal(t, is, parseSettings(is.text()))
	})
}
