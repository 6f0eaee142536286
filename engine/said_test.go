package engine

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	csiplugin "github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/scrub"
)

// quoting is a driver whose unstage fails with these words.
type quoting struct {
	hal.CSINode
	failure *hal.Error
}

func (q quoting) Unstage(hal.Call, string, *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return nil, q.failure
}

func (q quoting) Publish(hal.Call, string, *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	return nil, q.failure
}

// vault is a cluster with secrets. A nil one can't be read.
type vault struct {
	hal.Cluster
	secrets map[string]map[string]string
}

func (v vault) Secret(_ hal.Call, namespace, name string) (hal.Secret, error) {
	switch data, known := v.secrets[namespace+"/"+name]; {
	case !known:
		return hal.Secret{}, &hal.Error{Op: "secret", Errno: syscall.ENOENT}
	case data == nil:
		return hal.Secret{}, &hal.Error{Op: "secret", Errno: syscall.EIO}
	default:
		return hal.NewSecret(data), nil
	}
}

type clock struct{ hal.Runtime }

func (clock) Now() hal.Instant { return 1 }

func TestWhatADriverSaysIsHeardWithoutSecrets(t *testing.T) {
	said := func(volume, expected []string, secrets map[string]map[string]string, reply hal.Reply, words string,
	) string {
		e := ears{clock{}, vault{secrets: secrets}, scrub.New(), kinds.All()}
		e.said.Complete()
		e.expect(expected)
		failure := &hal.Error{
			Op: "NodeUnstageVolume", Object: "d v", Class: hal.ClassRPC, Reply: reply,
			Code: hal.CodeInternal, Detail: words,
		}
		_, err := discreetNode{quoting{failure: failure}, e, volume}.Unstage(hal.Call{}, "d", nil)
		heard, ok := errors.AsType[*hal.Error](err)
		require.True(t, ok)
		require.Equal(t, words, failure.Detail, "the error itself stays as it is")
		return heard.Detail
	}
	own, other := map[string]string{"key": "the-own-secret"}, map[string]string{"key": "of-another-volume"}
	all := map[string]map[string]string{"n/own": own, "n/other": other}
	words := "neither the-own-secret nor OF-ANOTHER-VOLUME\n\x1b[2J"
	status := hal.ReplyStatus
	require.Equal(t, `neither *** nor *** \x1b[2J`, said([]string{"n/own"}, []string{"n/other", "n/gone"}, all,
		status, words))
	withheld := "message withheld: it may quote Secret n/own, which volnode cannot read"
	require.Equal(t, withheld, said([]string{"n/own"}, nil, map[string]map[string]string{"n/own": nil}, status, words))
	require.Equal(t, withheld, said([]string{"n/own"}, nil, nil, status, words),
		"it was deleted, and the driver may know it still")
	require.Equal(t, withheld, said(nil, []string{"n/own"}, map[string]map[string]string{"n/own": nil}, status, words))
	require.Equal(t, "no answer before the deadline", said([]string{"n/own"}, nil, nil, hal.ReplyNone,
		"no answer before the deadline"))
	early := ears{clock{}, vault{secrets: all}, scrub.New(), kinds.All()}
	err := early.heard(hal.Call{}, "d", nil, &hal.Error{
		Class: hal.ClassRPC, Reply: status, Code: hal.CodeUnknown,
		Detail: "of-another-volume",
	})
	require.ErrorContains(t, err, "message withheld: it may quote a Secret that volnode has not read")
	require.False(t, csiplugin.Ends(err))
	require.Empty(t, said([]string{"n/own"}, nil, nil, status, ""))
}

// A record tells which Secret a driver was given. That driver knows it still when nobody else has it any more, and no
// other driver does.
func TestASecretOfARecordIsNeverTakenForNone(t *testing.T) {
	e := ears{clock{}, vault{secrets: map[string]map[string]string{}}, scrub.New(), kinds.All()}
	e.said.Complete()
	e.said.Give("n/own", "d")
	says := func(driver, words string) error {
		return e.heard(hal.Call{}, driver, nil, &hal.Error{
			Class: hal.ClassRPC, Reply: hal.ReplyStatus,
			Code: hal.CodeUnknown, Detail: words,
		})
	}
	for range 2 {
		err := says("d", "the-own-secret")
		require.ErrorContains(t, err, "message withheld: it may quote Secret n/own")
		require.True(t, csiplugin.Ends(err), "its words were judged as they were said")
		require.ErrorContains(t, says("", "the-own-secret"), "message withheld", "it is not known who says that")
		require.ErrorContains(t, says("other", "target is busy"), "target is busy")
	}
	e.cluster = vault{secrets: map[string]map[string]string{"n/own": {"k": "the-own-secret"}}}
	require.ErrorContains(t, says("d", "no the-own-secret"), "no ***")
}

// Once the process that was given a Secret has ended and no record names it, nobody waits for the Secret any more, and
// nothing is kept of it.
func TestAGivenSecretIsReleased(t *testing.T) {
	e := ears{clock{}, vault{secrets: map[string]map[string]string{}}, scrub.New(), kinds.All()}
	e.said.Complete()
	e.said.Give("n/own", "d")
	e.said.Give("n/held", "d")
	e.said.Give("n/held", "other")
	busy := &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown, Detail: "target is busy"}
	e.said.Release("d", func(name string) bool { return name == "n/held" })
	require.False(t, e.said.IsGiven("n/own", ""))
	require.True(t, e.said.IsGiven("n/held", "d"))
	require.ErrorContains(t, e.heard(hal.Call{}, "d", nil, busy), "message withheld: it may quote Secret n/held")
	e.said.Release("d", func(string) bool { return false })
	require.True(t, e.said.IsGiven("n/held", "other"))
	require.ErrorContains(t, e.heard(hal.Call{}, "d", nil, busy), "target is busy")
}

// Nobody can read the tokens that a driver was given in an earlier life. As long as they are good, what it says is
// withheld, unless its process is another one.
func TestTokensOfAnEarlierLifeAreWithheld(t *testing.T) {
	e := ears{clock{}, vault{secrets: map[string]map[string]string{}}, scrub.New(), kinds.All()}
	e.said.Complete()
	says := func(driver string) error {
		return e.heard(hal.Call{}, driver, nil, &hal.Error{
			Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown, Detail: "no eyJhbGciOiJub25lIn0",
		})
	}
	e.said.Lend("d", 2)
	e.said.Lend("d", 1)
	e.said.Lend("over", 1)
	for _, driver := range []string{"d", ""} {
		err := says(driver)
		require.ErrorContains(t, err, "message withheld: it may quote a token that an earlier run has given to the driver")
		require.True(t, csiplugin.Ends(err), "its words were judged as they were said")
	}
	require.ErrorContains(t, says("over"), "eyJ")
	require.ErrorContains(t, says("other"), "eyJ")
	e.said.Release("d", func(string) bool { return true })
	e.said.Lend("d", 2) // the cluster sends its object again
	require.ErrorContains(t, says("d"), "eyJ")
}

// refusing makes no token.
type refusing struct{ err error }

func (r refusing) Token(hal.Call, hal.TokenRequest) (hal.Token, error) { return hal.Token{}, r.err }

// What a server says that makes no token is in one line, and without secrets.
func TestWhatAServerOfTokensSays(t *testing.T) {
	e := ears{clock{}, vault{}, scrub.New(), kinds.All()}
	e.said.LearnToken("eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJl")
	const text = "no eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJl\n\x1b[2J"
	for _, err := range []error{errors.New(text), &hal.Error{Op: "token", Class: hal.ClassRPC, Detail: text}} {
		h := e.discreet(hal.Host{Tokens: refusing{err}})
		_, told := h.Tokens.Token(hal.Call{}, hal.TokenRequest{})
		require.ErrorContains(t, told, `no *** \x1b[2J`)
		require.NotContains(t, told.Error(), "eyJ")
	}
}

// flexing is a FlexVolume driver that fails.
type flexing struct{ failure *hal.Error }

func (f flexing) Init(hal.Call, string) (hal.FlexCapabilities, error) {
	return hal.FlexCapabilities{}, f.failure
}
func (f flexing) Mount(hal.Call, string, string, []hal.Option) error { return f.failure }
func (f flexing) Unmount(hal.Call, string, string) error             { return f.failure }

// What a FlexVolume driver says is heard like what one of CSI says.
func TestWhatAFlexVolumeDriverSays(t *testing.T) {
	failure := &hal.Error{
		Op: "flex mount", Class: hal.ClassHelper, Reply: hal.ReplyStatus, Detail: "no login as hunter2-hunter2",
	}
	for _, isComplete := range []bool{true, false} {
		secrets := map[string]map[string]string{"ns/s": {"password": "hunter2-hunter2"}}
		e := ears{clock{}, vault{secrets: secrets}, scrub.New(), kinds.All()}
		if isComplete {
			e.said.Complete()
		}
		e.expect([]string{"ns/s"})
		h := e.discreet(hal.Host{Flex: flexing{failure}})
		_, err := h.Flex.Init(hal.Call{}, "example.com/fs")
		for _, err := range []error{
			err, h.Flex.Mount(hal.Call{}, "example.com/fs", "/v", nil), h.Flex.Unmount(hal.Call{}, "example.com/fs", "/v"),
		} {
			require.NotContains(t, err.Error(), "hunter2")
			require.ErrorContains(t, err, map[bool]string{true: "no login as***", false: "message withheld"}[isComplete])
		}
	}
}

// The tokens that a driver is given now are known.
func TestTokensAreLearnt(t *testing.T) {
	const token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
	failure := &hal.Error{
		Op: "NodePublishVolume", Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeInternal,
		Detail: "cannot log in with " + token,
	}
	for i := range 2 {
		e := ears{clock{}, vault{}, scrub.New(), kinds.All()}
		e.said.Complete()
		told := map[string]string{"csi.storage.k8s.io/serviceAccount.tokens": `{"a":{"token":"` + token + `"}}`}
		q := &csi.NodePublishVolumeRequest{VolumeContext: told}
		if i == 1 {
			q = &csi.NodePublishVolumeRequest{Secrets: told}
		}
		_, err := discreetNode{quoting{failure: failure}, e, nil}.Publish(hal.Call{}, "d", q)
		require.ErrorContains(t, err, "cannot log in with ***")
	}
}

// A Secret that is not there before every source is synced may come yet: it is read again then.
func TestASecretThatComesLateIsLearnt(t *testing.T) {
	v := vault{secrets: map[string]map[string]string{}}
	e := ears{clock{}, v, scrub.New(), kinds.All()}
	e.expect([]string{"n/own"})
	_, err := e.Secret(hal.Call{}, "n", "own")
	require.Error(t, err)
	e.said.Complete()
	v.secrets["n/own"] = map[string]string{"k": "the-own-secret"}
	err = e.heard(hal.Call{}, "d", nil, &hal.Error{
		Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown,
		Detail: "no the-own-secret",
	})
	require.ErrorContains(t, err, "no ***")
}

// A source that is read while the Secrets are is too late for the text that came before.
func TestATextFromBeforeTheSourcesWereReadIsWithheld(t *testing.T) {
	said := scrub.New()
	all := map[string]map[string]string{"n/first": {"k": "the-first-secret"}}
	e := ears{clock{}, naming{vault{secrets: all}, func() { said.Expect("n/own"); said.Complete() }}, said, kinds.All()}
	e.expect([]string{"n/first"})
	err := e.heard(hal.Call{}, "d", nil, &hal.Error{
		Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown, Detail: "no the-own-secret",
	})
	require.ErrorContains(t, err, "message withheld: it may quote a Secret that volnode has not read")
}

// naming is a vault, during whose reading a source is read.
type naming struct {
	vault
	names func()
}

func (n naming) Secret(c hal.Call, namespace, name string) (hal.Secret, error) {
	n.names()
	return n.vault.Secret(c, namespace, name)
}

func TestWordsOfAnErrorThatIsNoCallAreCleaned(t *testing.T) {
	e := ears{clock{}, nil, scrub.New(), kinds.All()}
	e.said.Learn("n/s", hal.NewSecret(map[string]string{"k": "the-own-secret"}))
	require.Equal(t, `plugin type "***" is not CSIPlugin`,
		e.wordsOf(errors.New(`plugin type "the-own-secret" is not CSIPlugin`)))
}

// The words prove the end of a call only as the driver has said them: what is hidden, cut or withheld must not turn
// doubt into proof.
func TestWhatIsHiddenOfAnAnswerDoesNotProveTheEndOfItsCall(t *testing.T) {
	ends := func(secret map[string]string, words string) bool {
		e := ears{clock{}, vault{secrets: map[string]map[string]string{"n/s": secret}}, scrub.New(), kinds.All()}
		e.said.Complete()
		failure := &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown, Detail: words}
		_, err := discreetNode{quoting{failure: failure}, e, []string{"n/s"}}.Unstage(hal.Call{}, "d", nil)
		return csiplugin.Ends(err)
	}
	other := map[string]string{"key": "the-own-secret"}
	require.True(t, ends(other, "target is busy"))
	require.True(t, ends(other, "the-own-secret"), "hidden in full, and no word of doubt")
	require.False(t, ends(map[string]string{"key": "timeout"}, "i/o timeout"))
	require.False(t, ends(map[string]string{"key": "killed by a signal"}, "mount: signal: killed"))
	require.False(t, ends(other, strings.Repeat("and so on ", 5000)+"context deadline exceeded"),
		"cut from what is told")
	require.False(t, ends(nil, "target is busy"), "withheld")
	require.False(t, ends(other, ""))
	require.False(t, ends(other, "timed\n\tout"), "over two lines")
}
