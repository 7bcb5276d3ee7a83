package tool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// fromStdin is the argument in whose place standard input is read.
const fromStdin = "-"

// mostLines and mostAhead, in bytes, bound what is read ahead of the server. A line of longestLine is refused in any codec.
const (
	mostLines   = 1000
	mostAhead   = 8 << 20
	longestLine = 2 << 20
)

// longestInput bounds a value that is the whole of standard input: no server stores more.
const longestInput = 512 << 20

// AreLines reports whether the values of a command are the lines of standard input.
func AreLines(values []string) bool { return len(values) == 1 && values[0] == fromStdin }

// EachBatch calls do with the lines of standard input, without their line ends, as they come: with
// all that can be read without a wait, up to mostLines and mostAhead.
func (t *Tool) EachBatch(ctx context.Context, do func(lines []string) error) error {
	lines := make(chan string, mostLines)
	ahead := semaphore.NewWeighted(mostAhead)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var unread error
	go func() { // ends with standard input, or the first line after the end of the command
		defer close(lines)
		unread = send(reading, t.Stdin, lines, ahead)
	}()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return unread
			}
			batch := append([]string{line}, ready(lines)...)
			if err := do(batch); err != nil {
				return err
			}
			for _, line := range batch {
				ahead.Release(int64(len(line)))
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// EachLine calls do with each line of standard input.
func (t *Tool) EachLine(ctx context.Context, do func(line string) error) error {
	return t.EachBatch(ctx, func(lines []string) error {
		for _, line := range lines {
			if err := do(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// send sends the lines of in, as far as there is room ahead.
func send(ctx context.Context, in io.Reader, to chan<- string, ahead *semaphore.Weighted) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, longestLine)
	for scan.Scan() {
		if ahead.Acquire(ctx, int64(len(scan.Bytes()))) != nil {
			return nil
		}
		select {
		case to <- scan.Text():
		case <-ctx.Done():
			return nil
		}
	}
	if err := scan.Err(); errors.Is(err, bufio.ErrTooLong) {
		return exit.Usagef("standard input: a line is longer than %d bytes", longestLine)
	} else if err != nil {
		return exit.Usagef("standard input: %v", err)
	}
	return nil
}

// ready returns what can be had of lines without a wait.
func ready(lines <-chan string) (all []string) {
	for len(all) < mostLines-1 {
		select {
		case line, more := <-lines:
			if !more {
				return all
			}
			all = append(all, line)
		default:
			return all
		}
	}
	return all
}

// ValueOf returns the value of an argument: of "-" the whole of standard input, without its last line end.
func (t *Tool) ValueOf(arg string) (string, error) {
	if arg != fromStdin {
		return arg, nil
	}
	all, err := io.ReadAll(io.LimitReader(t.Stdin, longestInput+1))
	switch {
	case err != nil:
		return "", exit.Usagef("standard input: %v", err)
	case len(all) > longestInput:
		return "", exit.Usagef("standard input is longer than %d bytes", longestInput)
	}
	if text, ended := strings.CutSuffix(string(all), "\n"); ended {
		return strings.TrimSuffix(text, "\r"), nil
	}
	return string(all), nil
}
