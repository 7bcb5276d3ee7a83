package main

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wheelOf returns a wheel with one file, and how it is pinned.
func wheelOf(t *testing.T) ([]byte, pinned) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("a/lib/m.so")
	require.NoError(t, err)
	_, err = f.Write([]byte("module"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes(), pinned{"some-wheel", "some-1.whl", hashOf(b.Bytes()), "a/lib/m.so", hashOf([]byte("module"))}
}

// TestTheModuleComesFromTheIndex that pip would ask, whichever way it names the wheel.
func TestTheModuleComesFromTheIndex(t *testing.T) {
	wheel, p := wheelOf(t)
	for what, page := range map[string]string{
		"a page":          `<a href="../../files/some-1.whl#sha256=12">some-1.whl</a>`,
		"an address":      `<a href="/files/some-1.whl">some-1.whl</a>`,
		"JSON":            `{"files":[{"filename":"some-1.whl","url":"/files/some-1.whl"}]}`,
		"a question":      `<a href="/files/some-1.whl?token=1&amp;a=b#sha256=12">some-1.whl</a>`,
		"single quotes":   `<a href='/files/some-1.whl'>some-1.whl</a>`,
		"another release": `<a href="/files/some-2.whl">some-2.whl</a>`,
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("/simple/some-wheel/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) })
		mux.HandleFunc("/files/some-1.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel) })
		server := httptest.NewServer(mux)
		t.Setenv("PIP_INDEX_URL", server.URL+"/simple")
		got, err := p.fetch(t.Context(), index(t.Context()))
		server.Close()
		if what == "another release" {
			require.ErrorContains(t, err, "the index has no some-1.whl")
			continue
		}
		require.NoError(t, err, what)
		require.Equal(t, "module", string(got), what)
	}
}

// TestWhatIsNotThePinnedFileIsRefused.
func TestWhatIsNotThePinnedFileIsRefused(t *testing.T) {
	t.Parallel()
	wheel, p := wheelOf(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if filepath.Ext(r.URL.Path) == ".whl" {
			_, _ = w.Write(wheel)
			return
		}
		_, _ = w.Write([]byte(`"/some-1.whl"`))
	}))
	defer server.Close()
	other := p
	other.sum = hashOf(nil)
	_, err := other.fetch(t.Context(), server.URL)
	require.ErrorContains(t, err, "the hash is")
	other = p
	other.fileSum = hashOf(nil)
	_, err = other.fetch(t.Context(), server.URL)
	require.ErrorContains(t, err, "the hash is")
	other = p
	other.file = "none"
	_, err = other.fetch(t.Context(), server.URL)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestAModuleThatIsThereIsKept asks nothing, and so does another one, such as that of another architecture.
func TestAModuleThatIsThereIsKept(t *testing.T) {
	t.Parallel()
	wheel, p := wheelOf(t)
	to := filepath.Join(t.TempDir(), "lib", "m.so")
	require.NoError(t, write(to, []byte("module")))
	require.NoError(t, p.into(t.Context(), to, func() string { t.Error("it was asked for"); return "" }))
	require.NoError(t, os.Chmod(to, 0o600))
	require.NoError(t, p.into(t.Context(), to, func() string { t.Error("it was asked for"); return "" }))
	info, err := os.Stat(to)
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode().Perm(), "a server loads only what can be executed")
	require.NoError(t, os.WriteFile(to, []byte("another"), 0o600))
	require.NoError(t, p.into(t.Context(), to, func() string { t.Error("it was asked for"); return "" }))
	got, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, "another", string(got))
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case asked.Add(1) == 1:
			w.WriteHeader(http.StatusServiceUnavailable) // for a moment
		case filepath.Ext(r.URL.Path) != ".whl":
			_, _ = w.Write([]byte(`"/some-1.whl"`))
		default:
			_, _ = w.Write(wheel)
		}
	}))
	defer server.Close()
	require.NoError(t, os.Remove(to))
	stale, fresh := filepath.Join(filepath.Dir(to), "rejson.123"), filepath.Join(filepath.Dir(to), "rejson.456")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	require.NoError(t, os.Chtimes(stale, time.Time{}, time.Now().Add(-2*patience)))
	require.NoError(t, os.WriteFile(fresh, nil, 0o600))
	require.NoError(t, p.into(t.Context(), to, func() string { return server.URL }))
	got, err = os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, "module", string(got))
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	require.Len(t, left, 2, "that of another process that may be writing is left")
}

// TestAnAnswerThatIsTooLongIsRefused by its length, and not by the hash of its beginning.
func TestAnAnswerThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 11)) }))
	defer server.Close()
	_, _, err := get(t.Context(), server.URL, 10)
	require.ErrorContains(t, err, "more than 10 bytes")
	body, _, err := get(t.Context(), server.URL, 11)
	require.NoError(t, err)
	require.Len(t, body, 11)
}

// TestAnErrorDoesNotShowThePasswordOfAnIndex.
func TestAnErrorDoesNotShowThePasswordOfAnIndex(t *testing.T) {
	t.Parallel()
	_, p := wheelOf(t)
	for _, index := range []string{"http://user:secret@127.0.0.1:1/simple", "http://user:secret@[/"} {
		_, err := p.fetch(t.Context(), index)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
