package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// process is a program that runs beside the story. What it logs is kept.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how, once done is closed

	mu      sync.Mutex
	lines   []string
	changed chan struct{} // closed at each line
}

// start runs a program; it dies with this one.
func start(name, path string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(path, args...), done: make(chan struct{}), changed: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.read(log)
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) read(log io.Reader) {
	scanner := bufio.NewScanner(log)
	for scanner.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// logged returns the lines so far, and a channel that is closed when there are more.
func (p *process) logged() ([]string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines, p.changed
}

// until waits for a line that contains text.
func (p *process) until(ctx context.Context, text string) error {
	for {
		lines, changed := p.logged()
		for _, line := range lines {
			if strings.Contains(line, text) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-p.done:
			return fmt.Errorf("%s has ended (%v) before it logged %s", p.name, p.cmd.ProcessState, text)
		case <-ctx.Done():
			return fmt.Errorf("%s has not logged %s in time", p.name, text)
		}
	}
}

// end sends a signal and waits for the end.
func (p *process) end(ctx context.Context, s syscall.Signal) error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended by itself: %v", p.name, p.cmd.ProcessState)
	default:
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s (pid %d) did not end after %v", p.name, p.cmd.Process.Pid, s)
	}
}

// tail is the end of the log.
func (p *process) tail() string {
	lines, _ := p.logged()
	const most = 15
	lines = lines[max(0, len(lines)-most):]
	return fmt.Sprintf("--- the last lines of %s (pid %d):\n%s\n", p.name, p.cmd.Process.Pid, strings.Join(lines, "\n"))
}

// run runs a program to its end and returns what it printed.
func run(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", path, strings.Join(args, " "), err, out.String(),
			log.String())
	}
	return out.String(), nil
}
