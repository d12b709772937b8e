"""./dev release, in a repository made for it of what is here. What ./dev test notes is written by hand: the tests
are not run again."""
import io
import os
import re
import subprocess
import tarfile

import pytest

from harness import run
from sources import copy_sources, git


CHANGES = "### Added\n- A door.\n" + "  It is of wood.\n" * 9000  # more than a pipe holds


class Repository:
    def __init__(self, folder):
        self.folder = folder
        copy_sources(folder)
        git(folder, "init", "--quiet", "--initial-branch=main")
        self.write("VERSION", "1.4.0\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n%s\n## 1.4.0 - 2026-01-02\n\n- A wall.\n" % CHANGES)
        self.commit()
        git(folder, "tag", "--annotate", "--message", "1.4.0", "v1.4.0")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)

    def commit(self):
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message", "a change")

    def pass_tests(self):
        """As ./dev test does at its end."""
        self.write("build/tested-commit", git(self.folder, "rev-parse", "HEAD"))

    def release(self, *words):
        names = {"GIT_%s_%s" % (who, what): value for who in ("AUTHOR", "COMMITTER")
                 for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))}
        return run([self.path("dev"), "release", *words], names)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Repository(str(tmp_path_factory.mktemp("release") / "r"))


@pytest.fixture
def repository(made):
    """Ready for a release, whatever the test before it did."""
    start = git(made.folder, "rev-list", "--max-parents=0", "HEAD").strip()
    git(made.folder, "switch", "--quiet", "--force", "main")
    git(made.folder, "reset", "--quiet", "--hard", start)
    git(made.folder, "clean", "--quiet", "--force", "-d")
    for tag in git(made.folder, "tag").split():
        if tag != "v1.4.0":
            git(made.folder, "tag", "--delete", tag)
    made.pass_tests()
    return made


def add_file(repository):
    repository.write("notes.txt", "mine\n")


def change_file(repository):
    repository.write("LICENSE", "none\n")


def commit_file(repository):
    repository.write("notes.txt", "mine\n")
    repository.commit()


def leave_branch(repository):
    git(repository.folder, "switch", "--quiet", "--detach")


def forget_tests(repository):
    os.remove(repository.path("build/tested-commit"))


def tell_nothing(repository):
    repository.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 1.4.0 - 2026-01-02\n\n- A wall.\n")
    repository.commit()
    repository.pass_tests()


def tag_higher(repository):
    git(repository.folder, "tag", "--annotate", "--message", "2.0.0", "v2.0.0")


REFUSED = {
    "nothing": (None, [], "it takes a version"),
    "two": (None, ["1.5.0", "1.6.0"], "it takes a version"),
    "words": (None, ["newest"], "is no version"),
    "two numbers": (None, ["1.5"], "is no version"),
    "a letter": (None, ["v1.5.0"], "is no version"),
    "leading zero": (None, ["1.05.0"], "is no version"),
    "the last": (None, ["1.4.0"], "there is a tag v1.4.0"),
    "older": (None, ["1.3.9"], "1.3.9 is older than 1.4.0"),
    "older than a tag": (tag_higher, ["1.10.0"], "not newer than the last release, 2.0.0"),
    "new file": (add_file, ["1.5.0"], "notes.txt"),
    "changed file": (change_file, ["1.5.0"], "LICENSE"),
    "no branch": (leave_branch, ["1.5.0"], "no branch is checked out"),
    "no change": (tell_nothing, ["1.5.0"], "tells of no change"),
    "not tested": (forget_tests, ["1.5.0"], "./dev test has not passed for this commit"),
    "tested before": (commit_file, ["1.5.0"], "./dev test has not passed for this commit"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_H3_release_is_refused(repository, why):
    prepare, words, told = REFUSED[why]
    if prepare:
        prepare(repository)
    before = git(repository.folder, "status", "--porcelain"), git(repository.folder, "rev-parse", "HEAD"), git(
        repository.folder, "tag")
    done = repository.release(*words)
    assert done.status == 1 and told in done.output, done.output
    assert before == (git(repository.folder, "status", "--porcelain"), git(repository.folder, "rev-parse", "HEAD"),
                      git(repository.folder, "tag"))


def test_H3_archive_of_the_sources_has_what_they_need_and_nothing_of_this_repository_alone(repository):
    names = git(repository.folder, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    archive = subprocess.run(["git", "-C", repository.folder, "archive", "HEAD"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        kept = {entry.name for entry in file if not entry.isdir()}
    left_out = {name for name in names if name.startswith((".ci/", ".github/"))} | {".gitattributes", ".gitignore"}
    assert len(left_out) > 4 and kept == set(names) - left_out


@pytest.mark.parametrize("version", ["1.4.1", "1.10.0"])
def test_H3_release_is_cut_and_tagged(repository, version):
    before = git(repository.folder, "rev-parse", "HEAD")
    done = repository.release(version, "--tag-only")
    assert done.status == 0 and "nothing was pushed" in done.output, done.output
    assert git(repository.folder, "status", "--porcelain") == ""
    assert git(repository.folder, "rev-parse", "HEAD~1") == before
    assert git(repository.folder, "diff", "--name-only", "HEAD~1").split() == [
        "CHANGELOG.md", "VERSION", "addons/tether/plugin.cfg"]
    assert repository.read("VERSION") == version + "\n"
    assert '\nversion="%s"\n' % version in repository.read("addons/tether/plugin.cfg")
    assert re.search(r"## Unreleased\n\n## %s - \d{4}-\d\d-\d\d\n\n%s\n## 1\.4\.0" %
                     (re.escape(version), re.escape(CHANGES)), repository.read("CHANGELOG.md"))
    assert git(repository.folder, "cat-file", "-t", "v" + version) == "tag\n"
    assert git(repository.folder, "rev-parse", "v%s^{commit}" % version) == git(repository.folder, "rev-parse", "HEAD")
    assert git(repository.folder, "tag", "--list", "--format=%(contents)", "v" + version).strip() == CHANGES.strip()
    assert repository.read("build/release-notes-v%s.md" % version).strip() == CHANGES.strip()


def test_H3_release_whose_package_cannot_be_made_is_taken_back(repository):
    repository.write("SConstruct", "Exit(1)\n")
    repository.commit()
    repository.pass_tests()
    before = git(repository.folder, "rev-parse", "HEAD")
    done = repository.release("1.5.0")
    assert done.status == 1 and "its commit is taken back" in done.output, done.output
    assert git(repository.folder, "rev-parse", "HEAD") == before
    assert git(repository.folder, "status", "--porcelain") == "" and git(repository.folder, "tag") == "v1.4.0\n"
