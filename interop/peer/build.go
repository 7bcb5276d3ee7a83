package peer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A build is kept in target/<version>, with the digest of the sources that it was made from beside it.
const (
	jarFile    = "peer.jar"
	digestFile = "sources.sha256"
)

// Build makes the program ready for a version of Redisson, as [Start] would: with Maven, and only if the
// last build is missing or out of date. The error says what is missing on this machine, or what Maven said.
func Build(ctx context.Context, version string) error {
	folder, err := project()
	if err != nil {
		return err
	}
	_, err = build(ctx, folder, version)
	return err
}

// build returns the jar for a version of Redisson, and runs Maven only if it is missing or out of date.
func build(ctx context.Context, folder, version string) (jar string, err error) {
	target := filepath.Join(folder, "target")
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", err
	}
	// Test binaries of several packages run at the same time, and all want the same jar.
	unlock, err := lockFile(filepath.Join(target, "build.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	digest, err := digestOf(folder)
	if err != nil {
		return "", err
	}
	out := filepath.Join(target, version)
	jar = filepath.Join(out, jarFile)
	if fresh(out, digest) {
		return jar, nil
	}
	if err := os.RemoveAll(out); err != nil {
		return "", err
	}
	if err := mavenPackage(ctx, folder, version); err != nil {
		return "", err
	}
	return jar, os.WriteFile(filepath.Join(out, digestFile), []byte(digest), 0o644)
}

// fresh compares contents, not times: a checkout gives old sources a new time. The digest is written
// last, so a build that was cut short is not taken for one.
func fresh(out, digest string) bool {
	built, err := os.ReadFile(filepath.Join(out, digestFile))
	return err == nil && string(built) == digest
}

func digestOf(folder string) (string, error) {
	sum := sha256.New()
	add := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		fmt.Fprintf(sum, "%s %d\n", filepath.ToSlash(name), len(content))
		sum.Write(content)
		return err
	}
	err := errors.Join(
		filepath.WalkDir(filepath.Join(folder, "pom.xml"), add),
		filepath.WalkDir(filepath.Join(folder, "src"), add))
	return hex.EncodeToString(sum.Sum(nil)), err
}

// mavenPackage tries without the network first: after the first time everything is in the local repository.
func mavenPackage(ctx context.Context, folder, version string) error {
	if _, err := javaTool(ctx, "javac"); err != nil {
		return err
	}
	mvn, err := tool("mvn")
	if err != nil {
		return err
	}
	args := []string{"-q", "-B", "-ntp", "-Dredisson.version=" + version, "package"}
	if maven(ctx, folder, mvn, append([]string{"-o"}, args...), io.Discard) == nil {
		return nil
	}
	var said bytes.Buffer
	if err := maven(ctx, folder, mvn, args, &said); err != nil {
		return fmt.Errorf("mvn %q: %w\n%s", args, err, said.Bytes())
	}
	return nil
}

func maven(ctx context.Context, folder, mvn string, args []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, mvn, args...)
	cmd.Dir = folder
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	dieWithParent(cmd)
	return cmd.Run()
}
