package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/internal/wording"
)

const configHead = "apiVersion: volnode.dev/v1alpha1\nkind: NodeConfiguration\n"

func TestConfigurationIsRead(t *testing.T) {
	c, _, err := parseConfiguration([]byte(configHead + `
nodeName: node-7
rootDir: /srv/volnode
manifestDir: /srv/manifests
mountNamespace: own
socket: /run/v/v.sock
metrics: {address: "127.0.0.1:9810"}
csi:
  callTimeout: 5m
  unstageTimeout: 40s
  lateWindow: 90s
  perDriver:
    san.example.com: {callTimeout: 10m, lateWindow: 0s, actsAfterReply: true}
    nfs.example.com: {publishesWithoutMount: true}
gitRepoVolumes: [https, http]
emptyDirQuota: enforce
journalBytes: 8Mi
logging: {format: json, level: debug}
`))
	require.NoError(t, err)
	require.NoError(t, c.complete())
	require.Equal(t, "node-7", c.NodeName)
	require.Equal(t, ownNamespace, c.MountNamespace)
	require.Equal(t, loggingConfig{logJSON, slog.LevelDebug}, c.Logging)

	e := c.engineConfig(nil)
	require.True(t, e.NoRuntime)
	require.Equal(t, []string{"https", "http"}, e.RepositorySchemes)
	require.True(t, e.HoldsLimits)
	off := defaultConfiguration()
	require.False(t, off.engineConfig(nil).HoldsLimits)
	require.Empty(t, defaultConfiguration().GitRepoVolumes, "nothing is cloned unless a person allows it")
	require.EqualValues(t, 8<<20, e.JournalBytes)
	require.Equal(t, []time.Duration{5 * time.Minute, 40 * time.Second, 90 * time.Second},
		[]time.Duration{e.CallTimeout, e.UnstageTimeout, e.LateWindow})
	san := e.Drivers["san.example.com"]
	require.Equal(t, 10*time.Minute, san.SetUp)
	require.Equal(t, noLateWindow, san.LateWindow, "none, and not the default")
	require.True(t, san.ActsAfterReply)
	require.Zero(t, e.Drivers["nfs.example.com"].LateWindow, "the default")
	require.True(t, e.Drivers["nfs.example.com"].PublishesWithoutMount)
	require.Equal(t, 90*time.Second, c.lateWindow())
}

func TestAKeyOfAnEarlierVersionIsReadAndNamed(t *testing.T) {
	c, _, err := parseConfiguration([]byte(configHead + "csi:\n  settle: 90s\n  perDriver: {a.b: {settle: 5s}}\n"))
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, c.CSI.LateWindow)
	require.Equal(t, 5*time.Second, *c.CSI.PerDriver["a.b"].LateWindow)
	require.Equal(t, []string{
		"line 4: csi.settle is now called csi.lateWindow",
		"line 5: csi.perDriver.a.b.settle is now called csi.perDriver.a.b.lateWindow",
	}, c.former)
	_, _, err = parseConfiguration([]byte(configHead + "csi: {settle: 90s, lateWindow: 1s}"))
	require.ErrorContains(t, err, `key "csi.lateWindow" is given twice`)
}

func TestTheExampleConfigurationIsTheDefault(t *testing.T) {
	c, err := loadConfiguration(filepath.Join("..", "..", "examples", "systemd", "config.yaml"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "systemd", "config.yaml"))
	require.NoError(t, err)
	for field := range reflect.TypeFor[configuration]().Fields() {
		if key, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); key != "" && key != "-" {
			require.Contains(t, string(text), key+":")
		}
	}
	want := defaultConfiguration()
	want.APIVersion, want.Kind, want.CSI.PerDriver = configVersion, configKind, map[string]driverConfig{}
	require.Equal(t, want, c)
}

func TestBadConfigurationIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"no version", "nodeName: a", `this volnode reads apiVersion volnode.dev/v1alpha1`},
		{"other version", "apiVersion: volnode.dev/v2\nkind: NodeConfiguration", `is apiVersion "volnode.dev/v2"`},
		{"unknown key", configHead + "rootdir: /a", `:3: unknown key "rootdir"; did you mean "rootDir"?`},
		{
			"misspelt nested key", configHead + "csi:\n  calTimeout: 1s",
			`:4: unknown key "csi.calTimeout"; did you mean "callTimeout"?`,
		},
		{
			"key in another place", configHead + "callTimeout: 1s",
			`:3: unknown key "callTimeout"; did you mean "csi.callTimeout"?`,
		},
		{"key like no other", configHead + "xyzzy: 1", `:3: unknown key "xyzzy"; known here: apiVersion, csi,`},
		{
			"unknown key of a driver", configHead + "csi: {perDriver: {a.b: {lateWindw: 1s}}}",
			`unknown key "csi.perDriver.a.b.lateWindw"; did you mean "lateWindow"?`,
		},
		{"double key", configHead + "nodeName: a\nnodeName: b", `:4: key "nodeName" is given twice, first in line 3`},
		{
			"double driver", configHead + "csi:\n  perDriver:\n    a.b: {}\n    a.b: {}",
			`:6: key "csi.perDriver.a.b" is given twice, first in line 5`,
		},
		{"alias", configHead + "csi: &a {}\nlogging: *a", ":3: anchors and aliases are not supported"},
		{"two documents", configHead + "---\n" + configHead, "more than one document"},
		{"list", "- a", ":1: the file must hold keys and values"},
		{"scalar for a mapping", configHead + "csi: fast", ":3: csi must hold keys and values"},
		{"no YAML", "a: [", "yaml: line 1"},
		{
			"tab", configHead + "csi:\n\tcallTimeout: 1s\n",
			": line 4: a tab is in the indentation, and YAML allows spaces only; write spaces in place of it",
		},
		{
			"bad duration", configHead + "csi: {callTimeout: soon}",
			`:3: csi.callTimeout: "soon" is not a time like 30s or 2m`,
		},
		{
			"duration without a unit", configHead + "csi: {callTimeout: 30}",
			":3: csi.callTimeout: 30 has no unit; write 30s",
		},
		{"short time", configHead + "csi: {callTimeout: 30ms}", ":3: csi.callTimeout: 30ms is not between 1s and 1h"},
		{
			"late window of a driver", configHead + "csi: {perDriver: {a.b: {lateWindow: -1s}}}",
			"csi.perDriver.a.b.lateWindow: -1s",
		},
		{"driver name", configHead + "csi: {perDriver: {a/b: {}}}", "the driver's name has characters outside"},
		{"bad size", configHead + "journalBytes: much", `:3: journalBytes: "much" is not a size like 4Mi`},
		{"value for a list", configHead + "gitRepoVolumes: true", ":3: gitRepoVolumes: must be a list, like [a, b]"},
		{"list of lists", configHead + "gitRepoVolumes: [[https]]", ":3: gitRepoVolumes: must be a list of single values"},
		{
			"no scheme", configHead + "gitRepoVolumes: [https, ssh]",
			`:3: gitRepoVolumes: "ssh" is no scheme that volnode clones by; it knows https and http`,
		},
		{"list for a value", configHead + "nodeName: [a]", ":3: nodeName: must be one value"},
		{
			"no boolean", configHead + "csi: {perDriver: {a.b: {actsAfterReply: perhaps}}}",
			`.actsAfterReply: "perhaps" is neither true nor false`,
		},
		{"small journal", configHead + "journalBytes: 1Ki", ":3: journalBytes: 1024 is not between"},
		{
			"bad level", configHead + "logging:\n  level: chatty",
			`:4: logging.level: "chatty" is none of debug, info, warn, error`,
		},
		{"bad format", configHead + "logging: {format: xml}", `:3: logging.format: "xml" is neither text nor json`},
		{"bad namespace", configHead + "mountNamespace: private", `mountNamespace: "private" is neither host nor own`},
		{"relative root", configHead + "rootDir: var/lib", `rootDir: "var/lib" is not an absolute path`},
		{
			"dots", configHead + "manifestDir: /etc/../a",
			`manifestDir: "/etc/../a" is not in its shortest form; write "/a"`,
		},
		{"no such quota", configHead + "emptyDirQuota: on", `:3: emptyDirQuota: "on" is neither off nor enforce`},
		{"relative drivers", configHead + "flexVolumeDir: exec", `:3: flexVolumeDir: "exec" is not an absolute path`},
		{"long socket", configHead + "socket: /" + strings.Repeat("a", 120), "longer than the 107 bytes"},
		{"node name", configHead + "nodeName: a/b", "nodeName: "},
		{"public metrics", configHead + `metrics: {address: "0.0.0.0:1"}`, "is not a loopback address"},
		{"named metrics", configHead + `metrics: {address: "example.com:1"}`, "is not a loopback address"},
		{"port only", configHead + `metrics: {address: "9810"}`, "is not of the form 127.0.0.1:9810"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			_, err := loadConfiguration(path)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, wording.Wrong(err.Error()), err)
		})
	}
}

// volnode tells all errors of a file at once, a line for each, in the order of the file. It checks the values once all
// keys and types are right.
func TestAllErrorsOfAConfigurationAreTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	told := func(text string) string {
		require.NoError(t, os.WriteFile(path, []byte(configHead+text), 0o600))
		_, err := loadConfiguration(path)
		require.Error(t, err)
		return strings.ReplaceAll(err.Error(), path, "F")
	}
	require.Equal(t, `F:3: unknown key "rotDir"; did you mean "rootDir"?`+"\n"+
		`F:5: csi.lateWindow: "soon" is not a time like 30s or 2m`+"\n"+
		`F:6: unknown key "csi.calTimeout"; did you mean "callTimeout"?`,
		told("rotDir: /a\ncsi:\n  settle: soon\n  calTimeout: 1s\n"))
	require.Equal(t, `F:3: socket: "s" is not an absolute path`+"\n"+
		`F:4: mountNamespace: "x" is neither host nor own`+"\n"+`F:5: csi.callTimeout: 1ms is not between 1s and 1h`+"\n"+
		`F:5: csi.lateWindow: 2h0m0s is not between 0s and 1h`,
		told("socket: s\nmountNamespace: x\ncsi: {callTimeout: 1ms, settle: 2h}\n"))
	require.Equal(t, `F:3: rootDir: "/srv/volnode/" is not in its shortest form; write "/srv/volnode"`,
		told("rootDir: /srv/volnode/\n"))
}

func TestBadConfigurationEndsWith78(t *testing.T) {
	needRoot(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	r := volnode(t, "run", "--config", path)
	require.Equal(t, exitConfig, r.status)
	require.Contains(t, r.errOut, "no such file")

	require.NoError(t, os.WriteFile(path, []byte(configHead+"rotDir: /a\n"), 0o600))
	r = volnode(t, "run", "--config", path)
	require.Equal(t, exitConfig, r.status)
	require.Contains(t, r.errOut, path+`:3: unknown key "rotDir"; did you mean "rootDir"?`)

	require.NoError(t, os.Chmod(path, 0o666))
	r = volnode(t, "run", "--config", path)
	require.Equal(t, exitConfig, r.status)
	require.Contains(t, r.errOut,
		"writable by users other than root (mode 0666): check its content, then chmod go-w "+path)

	require.NoError(t, os.Chown(path, nobody, nobody))
	r = volnode(t, "run", "--config", path)
	require.Equal(t, exitConfig, r.status)
	require.Contains(t, r.errOut, "belongs to uid 65534, not to root: check its content, then chown root "+path)
}

func TestBadFlagsEndWithTwoAndAreNamed(t *testing.T) {
	needRoot(t)
	for flag, want := range map[string]string{
		"--log-format=xml":            `--log-format: "xml" is neither text nor json`,
		"--mount-namespace=foo":       `--mount-namespace: "foo" is neither host nor own`,
		"--root-dir=a":                `--root-dir: "a" is not an absolute path`,
		"--manifest-dir=a":            `--manifest-dir: "a" is not an absolute path`,
		"--socket=a":                  `--socket: "a" is not an absolute path`,
		"--node-name=a/b":             `--node-name: "a/b" `,
		"--metrics-address=1.2.3.4:1": `--metrics-address: "1.2.3.4:1" is not a loopback address`,
		"--log-level=loud":            `--log-level: "loud" is none of debug, info, warn, error`,
	} {
		r := volnode(t, "run", flag)
		require.Equal(t, exitUsage, r.status, flag)
		require.Contains(t, r.errOut, want)
	}
	r := volnode(t, "run", "--log-format=xml", "--mount-namespace=foo")
	require.Equal(t, exitUsage, r.status)
	require.Contains(t, r.errOut, `--mount-namespace: "foo" is neither host nor own`+"\n"+
		`--log-format: "xml" is neither text nor json`)
}

func TestFlagsOverrideTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path,
		[]byte(configHead+"rootDir: /a\nmanifestDir: /b\nnodeName: c\nlogging: {level: warn}\n"), 0o600))
	cmd := runCommand(&client{})
	require.NoError(t, cmd.ParseFlags([]string{"--root-dir=/d", "--log-level=error"}))
	flags := defaultConfiguration()
	flags.RootDir, flags.Logging.Level = "/d", slog.LevelError
	c, err := configurationOf(path, flags, cmd.Flags())
	require.NoError(t, err)
	require.Equal(t, "/d", c.RootDir)
	require.Equal(t, "/b", c.ManifestDir)
	require.Equal(t, "c", c.NodeName)
	require.Equal(t, slog.LevelError, c.Logging.Level)
}

func TestTheReferenceNamesEveryKeyAndFlag(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "volnode.md"))
	require.NoError(t, err)
	reference := string(content)
	for _, key := range keysOf(reflect.TypeFor[configuration](), "") {
		if key != "metrics" && key != "csi" && key != "logging" {
			require.Contains(t, reference, "`"+key+"`")
		}
	}
	for f := range reflect.TypeFor[driverConfig]().Fields() {
		require.Contains(t, reference, f.Tag.Get("yaml")+"`")
	}
	runCommand(&client{}).Flags().VisitAll(func(f *pflag.Flag) {
		require.Contains(t, reference, "--"+f.Name)
	})
}
