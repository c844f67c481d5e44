#include "audit/verify_rows.h"

#include <algorithm>
#include <map>

#include "audit/merkle.h"
#include "audit/sealer.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

// More rows than leaves and faults together can only mean more faults than are told.
constexpr int kReadRows = kPartRows + static_cast<int>(kMaxFaults) + 1;

// One checkpoint under examination.
struct Tree {
    const Checkpoint* checkpoint = nullptr;
    GrowingTree of_leaves;
    GrowingTree of_rows;
    std::int64_t right = 0;
    std::int64_t pruned = 0;
    std::vector<Fault> faults;  // told only when the rows do not lead to the root

    [[nodiscard]] bool leads_to_root(const GrowingTree& tree) const {
        return tree.size() == checkpoint->rows && crypto::to_hex(tree.root()) == checkpoint->root;
    }
};

struct Chunk {
    Position pruned;
    Position until;
    bool is_last = false;
    std::vector<Leaf> leaves;
    std::vector<Record> records;
};

class SealCheck {
public:
    SealCheck(
        store::Database& database,
        const std::vector<Checkpoint>& checkpoints,
        const std::optional<std::string>& tenant_id,
        const JudgeMark& judge_mark,
        Verification& into
    )
        : database_(database), tenant_id_(tenant_id), judge_mark_(judge_mark), into_(into) {
        for (const Checkpoint& checkpoint : checkpoints) {
            ordinals_[checkpoint.tenant_id] = trees_.size();
            trees_.emplace_back().checkpoint = &checkpoint;
        }
        const Checkpoint& first = checkpoints.front();
        seal_ = first.seal;
        from_ = seal_ == 1 ? kLowest : first.from;
        to_ = first.to;
    }

    void run() {
        Position after = from_;
        Chunk chunk;
        for (std::int64_t part = 0; !chunk.is_last && !into_.is_cut; ++part) {
            chunk = read_chunk(part, after);
            compare(chunk);
            after = std::max(after, chunk.until);
        }
        for (Tree& tree : trees_) {
            if (is_wanted(tree.checkpoint->tenant_id)) {
                conclude(tree, chunk.pruned);
            }
        }
    }

private:
    [[nodiscard]] bool is_wanted(const std::string& tenant) const {
        return !tenant_id_ || *tenant_id_ == tenant;
    }

    // Leaves, rows and the pruned place of one moment.
    Chunk read_chunk(std::int64_t part, Position after) {
        return database_.read(
            [&](store::Transaction& tx) {
                Chunk chunk;
                chunk.pruned = judge_mark_(read_seal_state(tx));
                chunk.until = to_;
                // What the tenant has no checkpoint for needs no leaves: no row of it may be there.
                const bool has_leaves = !tenant_id_ || ordinals_.contains(*tenant_id_);
                const auto text = has_leaves ? find_leaves_text(tx, seal_, part) : std::nullopt;
                auto leaves = text ? find_leaves(*text) : std::nullopt;
                if (leaves && !leaves->empty()) {
                    chunk.until = std::min(to_, leaves->back().position);
                    chunk.leaves = std::move(*leaves);
                }
                chunk.records = read_records(tx, {after, chunk.until, kReadRows}, tenant_id_);
                if (chunk.leaves.empty()) {
                    // Behind the last leaf, or without any, rows are read on to the end of the
                    // seal.
                    chunk.is_last = chunk.records.size() < static_cast<std::size_t>(kReadRows);
                    chunk.until = chunk.is_last ? to_ : chunk.records.back().position;
                }
                return chunk;
            },
            store::Purpose::Background
        );
    }

    Tree* find_tree(std::int64_t ordinal) {
        const bool is_there = ordinal >= 0 && ordinal < static_cast<std::int64_t>(trees_.size());
        return is_there ? &trees_[static_cast<std::size_t>(ordinal)] : nullptr;
    }
    Tree* find_tree(const std::string& tenant) {
        const auto found = ordinals_.find(tenant);
        return found == ordinals_.end() ? nullptr : &trees_[found->second];
    }

    // Both go by place, so one pass over the two finds what either has alone.
    void compare(const Chunk& chunk) {
        auto record = chunk.records.begin();
        for (const Leaf& leaf : chunk.leaves) {
            for (; record != chunk.records.end() && record->position < leaf.position; ++record) {
                found_alone(*record);
            }
            Tree* const tree = find_tree(leaf.tree);
            if (tree == nullptr || !is_wanted(tree->checkpoint->tenant_id)) {
                continue;  // only of one tenant anything is asked
            }
            tree->of_leaves.add(leaf.hash());
            if (record != chunk.records.end() && record->position == leaf.position) {
                found_both(*tree, leaf, *record, chunk.pruned);
                ++record;
            } else if (leaf.position <= chunk.pruned) {
                ++tree->pruned;
            } else {
                tree->faults.push_back(fault(
                    *tree,
                    leaf.id,
                    tenant_id_ ? "was removed, or moved to another tenant" : "was removed"
                ));
            }
        }
        for (; record != chunk.records.end(); ++record) {
            found_alone(*record);
        }
    }

    static Fault fault(const Tree& tree, const std::string& row, std::string message) {
        return {row, tree.checkpoint->number, "row " + row + ": " + std::move(message)};
    }

    void found_both(Tree& tree, const Leaf& leaf, const Record& record, Position pruned) {
        add_row(record);
        if (record.position <= pruned) {
            tree.faults.push_back(fault(tree, record.id(), "was put back: it had been pruned"));
        } else if (record.id() != leaf.id) {
            tree.faults.push_back(fault(tree, leaf.id, "was changed: its id is now " + record.id())
            );
        } else if (digest_of(record) != leaf.digest) {
            tree.faults.push_back(fault(tree, leaf.id, "was changed after it was sealed"));
        } else {
            ++tree.right;
        }
    }

    void found_alone(const Record& record) {
        add_row(record);
        Tree* const tree = find_tree(record.tenant_id());
        if (tree == nullptr) {
            add_fault(
                into_,
                {record.id(),
                 seal_,
                 "row " + record.id() + ": was put in: tenant " + record.tenant_id() +
                     " has no checkpoint here"}
            );
            return;
        }
        tree->faults.push_back(fault(*tree, record.id(), "was put in: no leaf of it is sealed"));
    }

    // Whether the rows alone still lead to the root: then it is the stored leaves that are wrong.
    void add_row(const Record& record) {
        if (Tree* const tree = find_tree(record.tenant_id())) {
            tree->of_rows.add(Leaf{record.position, 0, record.id(), digest_of(record)}.hash());
        }
    }

    void conclude(Tree& tree, Position pruned) {
        const std::int64_t number = tree.checkpoint->number;
        const bool are_leaves_right = tree.leads_to_root(tree.of_leaves);
        const bool is_gone = to_ <= pruned;
        if (!is_gone && tree.leads_to_root(tree.of_rows)) {
            into_.rows += tree.checkpoint->rows;
            if (!are_leaves_right) {
                add_fault(
                    into_,
                    {{},
                     number,
                     "its stored leaves were changed or removed; its rows are as they were sealed"}
                );
            }
            return;
        }
        into_.rows += tree.right;
        into_.pruned += is_gone ? tree.checkpoint->rows : tree.pruned;
        if (!is_gone && !are_leaves_right) {
            add_fault(
                into_,
                {{},
                 number,
                 "neither its rows nor its stored leaves lead to the root it was signed with"}
            );
        }
        for (Fault& one : tree.faults) {
            add_fault(into_, std::move(one));
        }
    }

    store::Database& database_;
    const std::optional<std::string>& tenant_id_;
    const JudgeMark& judge_mark_;
    Verification& into_;
    std::vector<Tree> trees_;
    std::map<std::string, std::size_t> ordinals_;
    std::int64_t seal_ = 0;
    Position from_;
    Position to_;
};

}  // namespace

void add_fault(Verification& into, Fault fault) {
    if (into.faults.size() >= kMaxFaults) {
        into.is_cut = true;
        return;
    }
    into.faults.push_back(std::move(fault));
}

void verify_rows(
    store::Database& database,
    const std::vector<Checkpoint>& checkpoints,
    const std::optional<std::string>& tenant_id,
    const JudgeMark& judge_mark,
    Verification& into
) {
    SealCheck(database, checkpoints, tenant_id, judge_mark, into).run();
}

}  // namespace compute::audit
