package csidriver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Call is one line of the call log. Each call writes two: when it starts and when it ends. A start without an end is a
// call that the driver died in.
type Call struct {
	Seq         int64           `json:"seq"`   // the same in both lines; counts from 1 in each run of the driver
	Event       CallEvent       `json:"event"` //
	Time        time.Time       `json:"time"`
	Method      string          `json:"method"` // RPC without its service
	VolumeID    string          `json:"volume_id,omitempty"`
	TargetPath  string          `json:"target_path,omitempty"`
	StagingPath string          `json:"staging_path,omitempty"`
	Request     json.RawMessage `json:"request,omitempty"` // start only; secrets are ***
	Code        string          `json:"code,omitempty"`    // end only; "OK" or the name of a gRPC code
	Error       string          `json:"error,omitempty"`   // end only
	Seconds     float64         `json:"seconds,omitempty"` // end only
	Fault       *Rule           `json:"fault,omitempty"`   // end only: the rule that applied
}

// CallEvent says which of a call's two lines this is.
type CallEvent string

// The events.
const (
	CallStarted CallEvent = "start"
	CallEnded   CallEvent = "end"
)

// ReadCalls reads a call log. A last line that is cut short, because the driver died or is writing, is left out; a log
// that does not exist has no calls.
func ReadCalls(path string) ([]Call, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var calls []Call
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return calls, nil
		}
		var c Call
		if err := json.Unmarshal(line, &c); err != nil {
			return calls, fmt.Errorf("%s: line %d: %w", path, len(calls)+1, err)
		}
		calls = append(calls, c)
	}
}

// callLog appends to a file, one write per line, so that a line is in the kernel when write returns.
type callLog struct {
	mu   sync.Mutex
	seq  int64
	file *os.File // nil: no log
}

func openCallLog(path string) (*callLog, error) {
	if path == "" {
		return &callLog{}, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return &callLog{file: file}, err
}

func (l *callLog) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// start writes the first line of a call and returns what the second one repeats.
func (l *callLog) start(method string, request any) (Call, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	c := describeCall(method, request)
	c.Seq, c.Event, c.Time = l.seq, CallStarted, time.Now()
	started := c
	if message, ok := request.(proto.Message); ok {
		text, err := protojson.Marshal(redact(message))
		if err != nil {
			return c, err
		}
		started.Request = text
	}
	return c, l.write(started)
}

// end writes the second line.
func (l *callLog) end(c Call, code string, err error, fault *Rule) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	started := c.Time
	c.Event, c.Time, c.Code, c.Fault = CallEnded, time.Now(), code, fault
	c.Seconds = c.Time.Sub(started).Seconds()
	if err != nil {
		c.Error = err.Error()
	}
	return l.write(c)
}

func (l *callLog) write(c Call) error {
	if l.file == nil {
		return nil
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// describeCall picks the paths and the volume out of any request that has them. A volume that does not exist yet goes
// by the ID that it will get.
func describeCall(method string, request any) Call {
	c := Call{Method: method, VolumeID: lockKey(request)}
	if r, ok := request.(interface{ GetTargetPath() string }); ok {
		c.TargetPath = r.GetTargetPath()
	}
	if r, ok := request.(interface{ GetVolumePath() string }); ok {
		c.TargetPath = r.GetVolumePath()
	}
	if r, ok := request.(interface{ GetStagingTargetPath() string }); ok {
		c.StagingPath = r.GetStagingTargetPath()
	}
	return c
}
