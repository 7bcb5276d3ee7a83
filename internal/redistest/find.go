package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Versions are the servers of the test matrix, as [Version] takes them.
var Versions = []string{"7.0", "8.0", "valkey-8.1"}

type binary struct{ env, file, path string }

var binaries = map[string]binary{
	"7.0":        {"REDIS_SERVER_7", "redis-server-7", "redis-server"},
	"8.0":        {"REDIS_SERVER_8", "redis-server-8", ""},
	"valkey-8.1": {"VALKEY_SERVER_8", "valkey-server-8", ""},
}

// find returns the path of the server binary, or "" if this machine has none.
func find(version string) (string, error) {
	b, ok := binaries[version]
	if !ok {
		return "", fmt.Errorf("redistest: unknown version %q, have %q", version, Versions)
	}
	if path := os.Getenv(b.env); path != "" {
		return exec.LookPath(path)
	}
	if root, err := moduleRoot(); err == nil {
		if path, err := exec.LookPath(filepath.Join(root, ".servers", "bin", b.file)); err == nil {
			return path, nil
		}
	}
	if b.path == "" {
		return "", nil
	}
	path, err := exec.LookPath(b.path)
	if err != nil {
		return "", nil
	}
	return path, nil
}

// moduleRoot returns the nearest folder above the test's own that has the servers. A nested module (the
// benchmarks) uses those of the module around it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "go.mod")) && exists(filepath.Join(dir, ".servers")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("redistest: no module with servers above the working directory")
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Required reports whether a missing server fails its tests, in place of skipping them.
func Required() bool { return os.Getenv("RUEIDISSON_REQUIRE_SERVERS") == "1" }

// Missing returns an error that names the first of the versions whose server this machine does not have.
func Missing(versions ...string) error {
	for _, version := range versions {
		path, err := find(version)
		if err == nil && path == "" {
			err = fmt.Errorf("redistest: no server %s on this machine: `make servers` installs it", version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findJSON returns the path of the module RedisJSON, or "" if this machine has none.
func findJSON() string {
	if path := os.Getenv("REJSON_MODULE"); path != "" {
		if abs, err := filepath.Abs(path); err == nil { // a server has another directory
			return abs
		}
		return path
	}
	if root, err := moduleRoot(); err == nil {
		if path := filepath.Join(root, ".servers", "lib", "rejson.so"); exists(path) {
			return path
		}
	}
	return ""
}

// NeedJSON skips the test if this machine has no module RedisJSON, or fails it where servers are required.
func NeedJSON(t testing.TB) (there bool) {
	t.Helper()
	if path := findJSON(); path != "" {
		if !exists(path) {
			t.Fatal("redistest: REJSON_MODULE names no file: " + path)
			return false
		}
		return true
	}
	const missing = "no module RedisJSON on this machine: `make servers` gets it, for Linux on x86_64"
	if Required() {
		t.Fatal("redistest: " + missing)
	} else {
		t.Skipf("SKIPPED, NOT TESTED: %s", missing)
	}
	return false
}

// need returns the server binary of a version. Without one, or without the module that it is to load, it skips the test, or
// fails it where servers are required.
func (o options) need(t testing.TB, version string) string {
	t.Helper()
	path := need(t, version)
	if path != "" && o.json && !NeedJSON(t) {
		return ""
	}
	return path
}

// need returns the server binary; without one it skips the test, or fails it where servers are required.
func need(t testing.TB, version string) string {
	t.Helper()
	path, err := find(version)
	if err != nil {
		t.Fatal(err)
		return ""
	}
	if path != "" {
		return path
	}
	if Required() {
		t.Fatal(Missing(version))
		return ""
	}
	t.Skipf("SKIPPED, NOT TESTED: no server %s on this machine: `make test` installs it", version)
	return ""
}
