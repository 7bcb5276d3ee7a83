//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson/internal/proc"
)

// suite is the session whose processes are slowed down.
type suite struct {
	session int
	stopped []int // by this command, not by the tests
}

// process is what /proc says of one.
type process struct {
	pid, parent, session int
	state                byte
}

// stop stops every process of the session that runs. A child is looked at after its parent stands still: a test that
// stops a child has either done so before, or does so after both were resumed. What a test has stopped on a busy machine
// may run for a moment still, and would run on if it was continued then.
func (s *suite) stop() {
	for _, p := range byDepth(processes(s.session)) {
		now, ok := read(p.pid)
		if !ok || now.session != s.session || now.state == 'T' || now.state == 't' || now.state == 'Z' || proc.Stopping(p.pid) {
			continue
		}
		if syscall.Kill(p.pid, syscall.SIGSTOP) != nil {
			continue
		}
		s.stopped = append(s.stopped, p.pid)
		_ = proc.AwaitStopped(p.pid, stopsWithin) // it may have ended, or wait for a disk
	}
}

// stopsWithin bounds the wait for a process to stand still.
const stopsWithin = time.Second

// resume continues what stop has stopped, children first.
func (s *suite) resume() {
	for _, pid := range slices.Backward(s.stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed meanwhile
	}
	s.stopped = s.stopped[:0]
}

func (s *suite) signal(sig syscall.Signal) {
	for _, p := range processes(s.session) {
		_ = syscall.Kill(p.pid, sig)
	}
}

// processes returns those of the session.
func processes(session int) (all []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := read(pid); ok && p.session == session {
			all = append(all, p)
		}
	}
	return all
}

// read reads /proc/PID/stat: the name of the program, in parentheses, may contain anything.
func read(pid int) (p process, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return p, false
	}
	p.pid = pid
	var group int
	_, err = fmt.Sscanf(string(b[end+1:]), " %c %d %d %d", &p.state, &p.parent, &group, &p.session)
	return p, err == nil
}

// byDepth sorts parents before their children.
func byDepth(all []process) []process {
	parents := map[int]int{}
	for _, p := range all {
		parents[p.pid] = p.parent
	}
	depth := func(pid int) (n int) {
		for range all { // a bound, since the snapshot was not taken at one instant
			parent, ok := parents[pid]
			if !ok {
				break
			}
			pid, n = parent, n+1
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b process) int { return depth(a.pid) - depth(b.pid) })
	return all
}
