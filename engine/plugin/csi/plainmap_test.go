package csi

import (
	"encoding/json"
	"maps"
	"testing"
)

// TestMapOf: a map is read as encoding/json reads it, whoever wrote it.
func TestMapOf(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `{"a":"b"}`, `{"a":"b","c":"d"}`, `{"a":"b","a":"c"}`, `{"":""}`, `{ "a" : "b" }`,
		`{"a":"\u003cé\n"}`, `{"a":"é"}`, `{"a\\":"b"}`,
		`{"a":"b",}`, `{"a":"b"`, `{"a":"b"}}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1}`, `{"a":null}`, `{"a":"b"} `, `null`,
		`[]`, `{"a":"b""c":"d"}`, "{\"a\":\"\x00\"}",
		"{\"a\":\"\xff\"}", `{"a":"b",,"c":"d"}`, `{"a":"<&>"}`,
	} {
		var want map[string]string
		if json.Unmarshal([]byte(text), &want) != nil {
			want = nil
		}
		if got := mapOf(text); !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("mapOf(%q) is %v, and encoding/json reads %v", text, got, want)
		}
	}
}
