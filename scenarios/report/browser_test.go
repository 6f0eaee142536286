package report

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium with one page, driven over the DevTools protocol on a pair of pipes.
type browser struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	last    int
}

// openBrowser skips the test if there is no Chromium.
func openBrowser(t *testing.T) *browser {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("SKIPPED: the page is not tried in a browser; install chromium")
	}
	home := t.TempDir()
	theirIn, in, err := os.Pipe()
	require.NoError(t, err)
	out, theirOut, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--remote-debugging-pipe",
		"--user-data-dir="+filepath.Join(home, "profile"), "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	require.NoError(t, cmd.Start())
	require.NoError(t, theirIn.Close())
	require.NoError(t, theirOut.Close())
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		_ = cmd.Wait() // how a browser exits is its own affair
		_ = in.Close()
		_ = out.Close()
	})
	var target struct {
		ID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	b.session = attached.Session
	b.call("Page.enable", nil, nil)
	return b
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params any             `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	// Session is that of a page.
	Session string `json:"sessionId,omitempty"`
}

func (b *browser) read() message {
	text, err := b.out.ReadBytes(0)
	require.NoError(b.t, err)
	var m message
	require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &m))
	return m
}

// call calls a method and reads its result into result, which may be nil.
func (b *browser) call(method string, params, result any) {
	b.last++
	m := message{ID: b.last, Method: method, Params: params, Session: b.session}
	if method == "Browser.close" {
		m.Session = ""
	}
	text, err := json.Marshal(m)
	require.NoError(b.t, err)
	_, err = b.in.Write(append(text, 0))
	require.NoError(b.t, err)
	for {
		answer := b.read()
		if answer.ID != b.last {
			continue
		}
		require.Empty(b.t, string(answer.Error), method)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

// open loads a file and waits until its scripts have run.
func (b *browser) open(path string) {
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for isLoaded := false; !isLoaded; {
		isLoaded = b.read().Method == "Page.loadEventFired"
	}
}

// eval is the value of an expression of JavaScript.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Thrown json.RawMessage `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&answer)
	require.Empty(b.t, string(answer.Thrown), expression)
	require.NoError(b.t, json.Unmarshal(answer.Result.Value, value), expression)
}

// text is what an element shows.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var text string
	b.eval(`document.querySelector(`+quote(selector)+`).innerText`, &text)
	return text
}

func quote(s string) string {
	text, _ := json.Marshal(s) // a string can always be marshalled
	return string(text)
}

// press focuses an element and presses a key.
func (b *browser) press(selector, key string, code int, text string) {
	b.t.Helper()
	var hasFocus bool
	b.eval(`(() => { const e = document.querySelector(`+quote(
		selector)+`); e.focus(); return document.activeElement === e })()`, &hasFocus)
	require.True(b.t, hasFocus, "%s can't be reached by keyboard", selector)
	params := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
	b.call("Input.dispatchKeyEvent", params, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{
		"type": "keyUp", "key": key, "code": key,
		"windowsVirtualKeyCode": code,
	}, nil)
}
